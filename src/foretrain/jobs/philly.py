"""Philly: the mix of jobs of a cluster of Microsoft's, from what is published of it.

Sizes, their shares and the daily wave are counted in the published log. How long jobs are meant to
run is published nowhere: those numbers, and when jobs fail and are killed, are fitted, so that what
is published comes out: the median, mean and 99th percentile of the time that jobs ran, the shares
of jobs and of device time that finished, were killed and failed, and the mean time that jobs of 2,
4 and 8 devices ran. `validation/scheduling/generator.py` compares.
"""

from __future__ import annotations

from foretrain.jobs.mix import Failing, Killing, Length, Mix, Size

PHILLY = Mix(
    sizes=(
        Size(devices=1, share=0.93167),
        Size(devices=2, share=0.02210, stretch=7.38),
        Size(devices=4, share=0.02274, stretch=71.6),
        Size(devices=8, share=0.01998, stretch=281.0),
        Size(devices=16, share=0.00242, stretch=281.0),
        Size(devices=32, share=0.00081, stretch=7.38),
        Size(devices=64, share=0.00007, stretch=7.38),
        Size(devices=128, share=0.00004, stretch=7.38),
    ),
    length=Length(
        median=1_530.0,
        spread=2.273,
        tail=0.04246,
        begins=264_700.0,
        index=2.131,
        longest=4_630_000.0,
    ),
    failing=Failing(shape=0.394, scale=2_314.0),
    killing=Killing(half=594_000.0, steepness=0.336, late=2.0),
    swing=0.29,
    peak=5.0 * 3_600.0,
    groups={
        "6214e9": 0.501, "11cb48": 0.196, "6c71a0": 0.121, "b436b2": 0.090, "103959": 0.024,
        "ee9e8c": 0.018, "0e4a51": 0.017, "ed69ec": 0.014, "7f04ca": 0.009, "2869ce": 0.005,
        "e13805": 0.005,
    },
)  # fmt: skip
"""Source: jeon2019 and its log, September to December 2017; the tail's longest is the log's."""
