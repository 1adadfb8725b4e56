"""Rows of the measurement tables: a configuration, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from recorder.configuration import Language, Precision, Recompute, Training, Vision
from recorder.machine import Machine
from recorder.outcome import Memory, Outcome
from recorder.timing import Timing

Row = dict[str, object]

_ORIGIN = "id source_id source source_kind date framework task model"
COLUMNS = {
    "llm_training": (
        f"{_ORIGIN} family layers hidden ffn_hidden heads kv_heads vocab seq_len params_b gpu "
        "gpu_norm gpus_total gpus_per_node tp pp cp dp mbs gbs grad_accum precision recompute "
        "attention_impl step_time_s samples_per_s tokens_per_s_total peak_mem_gb oom check notes "
        "optimizer"
    ).split(),
    "cnn_training": (
        f"{_ORIGIN} input gpu gpu_norm gpus_total gpus_per_node parallelism dp batch_per_gpu gbs "
        "precision data images_per_s step_time_s peak_mem_gb check notes"
    ).split(),
    "single_device": (
        f"{_ORIGIN} input gpu gpu_norm batch precision layout throughput unit step_time_s "
        "fwd_time_s bwd_time_s params_m check notes"
    ).split(),
    "memory": (
        f"{_ORIGIN} params_b gpu gpu_norm gpus_total seq_len mbs gbs precision tp pp cp dp "
        "recompute quantity value unit oom check notes input attention_impl optimizer"
    ).split(),
}
"""The columns of each table that a recording fills."""

TRAINING = "train (synthetic)"
PASSES = "forward+backward (no optimizer)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What the rows of one recording share."""

    source_id: str
    date: str
    machine: Machine

    def rows(self, training: Training, outcome: Outcome) -> Iterator[tuple[str, Row]]:
        """Each row of a configuration with the name of its table."""
        language = isinstance(training.network, Language)
        whole = self._language if language else self._vision
        if outcome.timing or language:
            yield "llm_training" if language else "cnn_training", whole(training, outcome)
        if outcome.timing and not language:
            yield "single_device", self._passes(training, outcome, outcome.timing)
        yield "memory", self._memory(training, outcome)

    def _shared(self, training: Training, task: str) -> Row:
        return {
            "id": f"{self.source_id}-{training.slug}",
            "source_id": self.source_id,
            "source": "our own recording, validation/device/record.py",
            "source_kind": "recorded",
            "date": self.date,
            "framework": self.machine.framework,
            "task": task,
            "model": training.network.name,
            "gpu": self.machine.model,
            "gpu_norm": self.machine.name,
            "precision": training.precision.value,
        }

    def _alone(self) -> Row:
        return {"gpus_total": 1, "gpus_per_node": 1, "dp": 1}

    def _language(self, training: Training, outcome: Outcome) -> Row:
        sizes, timing = training.network, outcome.timing
        assert isinstance(sizes, Language)
        return {
            **self._shared(training, TRAINING),
            **self._alone(),
            "family": "" if sizes.listed else sizes.family.value,
            "layers": sizes.layers,
            "hidden": sizes.hidden,
            "ffn_hidden": sizes.feed_forward,
            "heads": sizes.heads,
            "kv_heads": sizes.kv_heads,
            "vocab": sizes.vocabulary,
            "seq_len": training.size,
            "params_b": _rounded(outcome.parameters / 1e9),
            "tp": 1,
            "pp": 1,
            "cp": 1,
            "mbs": training.batch,
            "gbs": training.batch,
            "grad_accum": 1,
            "recompute": training.recompute.value,
            "attention_impl": training.attention.value,
            "step_time_s": timing and _rounded(timing.seconds),
            "samples_per_s": timing and _rounded(training.batch / timing.seconds),
            "tokens_per_s_total": timing
            and _rounded(training.batch * training.size / timing.seconds),
            "peak_mem_gb": self._peak(outcome),
            "oom": "" if timing else "yes",
            "check": _check(timing),
            "notes": self._notes(training, timing),
            "optimizer": "adamw",
        }

    def _vision(self, training: Training, outcome: Outcome) -> Row:
        timing = outcome.timing
        assert timing
        return {
            **self._shared(training, TRAINING),
            **self._alone(),
            "input": training.size,
            "parallelism": "single",
            "batch_per_gpu": training.batch,
            "gbs": training.batch,
            "data": "synthetic",
            "images_per_s": _rounded(training.batch / timing.seconds),
            "step_time_s": _rounded(timing.seconds),
            "peak_mem_gb": self._peak(outcome),
            "check": _check(timing),
            "notes": self._notes(training, timing),
        }

    def _passes(self, training: Training, outcome: Outcome, timing: Timing) -> Row:
        forward, backward, _ = timing.phases
        return {
            **self._shared(training, PASSES),
            "input": training.size,
            "batch": training.batch,
            "layout": "nhwc" if training.channels_last else "nchw",
            "throughput": _rounded(training.batch / (forward + backward)),
            "unit": "img/s",
            "step_time_s": _rounded(forward + backward),
            "fwd_time_s": _rounded(forward),
            "bwd_time_s": _rounded(backward),
            "params_m": _rounded(outcome.parameters / 1e6),
            "check": _check(timing),
            "notes": self._notes(training, timing),
        }

    def _memory(self, training: Training, outcome: Outcome) -> Row:
        memory, gpu = outcome.memory, self.machine.is_gpu
        language = isinstance(training.network, Language)
        return {
            **self._shared(training, TRAINING),
            **self._alone(),
            "params_b": _rounded(outcome.parameters / 1e9),
            "seq_len": training.size if language else "",
            "mbs": training.batch,
            "gbs": training.batch,
            "tp": 1,
            "pp": 1,
            "cp": 1,
            "recompute": training.recompute.value,
            "quantity": "max GPU memory per device" if gpu else "growth of the process",
            "value": memory and _rounded(memory.used / 1e9),
            "unit": "GB",
            "oom": "" if outcome.timing else "yes",
            "notes": _memory_notes(training, memory if gpu else None),
            "input": "" if language else training.size,
            "attention_impl": training.attention.value if language else "",
            "optimizer": "adamw" if language else "momentum",
        }

    def _peak(self, outcome: Outcome) -> str | None:
        """Billions of bytes of tensors; a process is no device."""
        memory = outcome.memory
        return _rounded(memory.used / 1e9) if memory and self.machine.is_gpu else None

    def _notes(self, training: Training, timing: Timing | None) -> str:
        if timing is None:
            return _how(training)
        counted = str(timing.counted) if timing.counted else "the quicker half of the"
        phases = zip(PHASES, timing.phases, strict=True)
        return "; ".join(
            (
                _how(training),
                f"{self.machine.seconds_of}, median of {counted} steps of {timing.repeats}",
                f"lower quartile {_rounded(timing.lower_quartile)} s",
                f"least {_rounded(timing.least)} s",
                *(f"{name} {_rounded(seconds)} s" for name, seconds in phases),
            )
        )


PHASES = ("forward", "backward", "update")


def _memory_notes(training: Training, memory: Memory | None) -> str:
    if memory is None:
        return _how(training)
    return (
        f"{_how(training)}; value is of tensors; the allocator reserved "
        f"{_rounded(memory.reserved / 1e9)} GB, {_rounded(memory.device / 1e9)} GB of the device "
        "were taken in all"
    )


def _check(timing: Timing | None) -> str:
    if timing is None or not timing.disturbed:
        return ""
    return f"other programs took {timing.others:.0%} of the processor while this was timed"


def _how(training: Training) -> str:
    words = ["eager", "same samples in every step"]
    if isinstance(training.network, Vision):
        words += ["SGD with momentum", "NHWC" if training.channels_last else "NCHW"]
    else:
        words.append("AdamW")
    if training.precision in {Precision.FP16_MIXED, Precision.BF16_MIXED}:
        words.append("weights of 32 bits, autocast")
    if training.recompute is Recompute.FULL:
        words.append("every block checkpointed")
    return ", ".join(words)


def _rounded(value: float) -> str:
    return f"{value:.6g}"
