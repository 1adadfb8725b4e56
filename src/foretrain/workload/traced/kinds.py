"""What operators of PyTorch are: products, kernels of their own, or value by value.

Names that stand in no table here are counted, priced by the bytes they move, and told.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from foretrain.workload.traced.trace import TraceRow


class RowKind(StrEnum):
    """How an operator is priced."""

    FREE = "free"
    """Another look at the same memory, or room without content."""
    PRODUCT = "product"
    """A matrix product or a convolution."""
    ATTENTION = "attention"
    """Queries that meet keys, in one call."""
    NORM = "norm"
    """A normalisation that is one kernel of its framework."""
    FUSIBLE = "fusible"
    """Value by value, a reduction or a copy: what compilers join with its neighbours."""
    MOVING = "moving"
    """A kernel of its own that is limited by the memory it moves."""
    UNKNOWN = "unknown"
    """In none of these tables."""


ATTENTION: Final = "foretrain.attention"
"""What a recorder writes for scaled dot-product attention, whoever computes it."""

_PRODUCTS = """
    aten.mm aten.addmm aten.bmm aten.baddbmm aten.addbmm aten.mv aten.addmv aten.dot aten.linear
    aten.matmul aten.convolution aten._convolution aten._grouped_mm aten._scaled_mm aten.vdot
    transformers.grouped_mm_fallback
"""
_NORMS = """
    aten.native_batch_norm aten.cudnn_batch_norm aten._native_batch_norm_legit
    aten._native_batch_norm_legit_functional aten._batch_norm_with_update aten.native_layer_norm
    aten.native_group_norm aten._fused_rms_norm aten.batch_norm aten.miopen_batch_norm
"""
_FREE = """
    aten.empty aten.empty_like aten.new_empty aten.empty_strided aten.new_empty_strided
    aten.lift_fresh aten.lift_fresh_copy aten.sym_size aten.sym_stride aten.sym_numel aten.set_
    aten.resize_ aten.as_strided_ aten.is_same_size aten._local_scalar_dense aten.record_stream
    aten.lift
"""
_FUSIBLE = """
    aten.sum aten.mean aten.var aten.var_mean aten.std aten.std_mean aten.amax aten.amin
    aten.max aten.min aten.prod aten.logsumexp aten.norm aten.linalg_vector_norm aten.argmax
    aten.argmin aten.any aten.all aten._softmax aten._log_softmax aten.clone aten._to_copy
    aten.copy_ aten.copy aten.cat aten.stack aten.native_dropout aten.bernoulli_ aten.bernoulli
    aten.rand aten.rand_like aten.randn aten.randn_like aten.uniform_ aten.normal_ aten.zeros
    aten.zeros_like aten.ones aten.ones_like aten.full aten.full_like aten.new_zeros aten.new_ones
    aten.new_full aten.fill_ aten.zero_ aten.fill aten.arange aten.linspace aten.scalar_tensor
    aten.eye aten.tril aten.triu aten.tril_indices aten.triu_indices aten.constant_pad_nd
    aten.reflection_pad1d aten.reflection_pad2d aten.reflection_pad3d aten.replication_pad1d
    aten.replication_pad2d aten.replication_pad3d aten.repeat aten.roll aten.flip aten.glu
    aten._safe_softmax aten.masked_fill_ aten.masked_fill aten.one_hot aten.diff aten.random_
    aten.exponential_ aten.slice_scatter aten.select_scatter aten.expand_copy aten.normal
    aten.randint aten.randint_like aten.count_nonzero aten.aminmax aten.mse_loss aten.smooth_l1_loss
    aten.huber_loss aten.softplus aten.rms_norm aten.cumsum_ aten._weight_norm_interface
    aten.floor_divide aten.polar aten.diagonal_copy aten.unfold_copy aten.dist aten.renorm
"""
_MOVING = """
    aten.embedding aten._embedding_bag aten._embedding_bag_forward_only aten.index aten.index_put
    aten.index_put_ aten._index_put_impl_ aten._unsafe_index aten._unsafe_index_put aten.gather
    aten.scatter aten.scatter_ aten.scatter_add aten.scatter_add_ aten.scatter_reduce
    aten.scatter_reduce_ aten.index_select aten.index_add aten.index_add_ aten.index_copy
    aten.index_copy_ aten.index_fill aten.index_fill_ aten.index_reduce aten.masked_scatter
    aten.masked_scatter_ aten.masked_select aten.take aten.put aten.sort aten.argsort aten.topk
    aten.kthvalue aten.median aten.cumsum aten.cumprod aten.logcumsumexp aten.cummax aten.cummin
    aten.searchsorted aten.bucketize aten.histc aten.bincount aten.nonzero aten.multinomial
    aten.max_pool2d_with_indices aten.max_pool3d_with_indices aten.max_pool2d aten.avg_pool1d
    aten.avg_pool2d aten.avg_pool3d aten._adaptive_avg_pool2d aten._adaptive_avg_pool3d
    aten.adaptive_max_pool2d aten.adaptive_max_pool3d aten.fractional_max_pool2d aten.max_unpool2d
    aten.upsample_nearest1d aten.upsample_nearest2d aten.upsample_nearest3d aten.upsample_linear1d
    aten._upsample_nearest_exact1d aten._upsample_nearest_exact2d aten._upsample_nearest_exact3d
    aten.upsample_bilinear2d aten._upsample_bilinear2d_aa aten.upsample_trilinear3d
    aten.upsample_bicubic2d aten._upsample_bicubic2d_aa aten.grid_sampler_2d aten.grid_sampler_3d
    aten.im2col aten.col2im aten.pixel_shuffle aten.pixel_unshuffle aten.channel_shuffle
    aten.nll_loss_forward aten.nll_loss2d_forward aten._ctc_loss aten.multi_margin_loss
    aten._fft_r2c aten._fft_c2r aten._fft_c2c aten._cdist_forward aten._pdist_forward
    aten.unfold aten.repeat_interleave aten.segment_reduce aten.randperm aten.affine_grid_generator
    aten._thnn_fused_gru_cell aten._thnn_fused_lstm_cell aten.binary_cross_entropy
    foretrain.scan aten._unique2 aten.unique_dim aten.unique_consecutive aten.isin
    aten.cross aten.linalg_cross
"""

TABLES: Final = {
    RowKind.PRODUCT: frozenset(_PRODUCTS.split()),
    RowKind.NORM: frozenset(_NORMS.split()),
    RowKind.FREE: frozenset(_FREE.split()),
    RowKind.FUSIBLE: frozenset(_FUSIBLE.split()),
    RowKind.MOVING: frozenset(_MOVING.split()),
}
"""Operators of PyTorch by their kind."""

LIKE_A_PRODUCT: Final = re.compile(
    r"mm|matmul|conv|linear(?!1d|_)|attention|attn|einsum|gemm|lstm|gru|rnn"
)
"""Names of operators that probably compute more than they move."""

NOTABLE: Final = 2**20
"""Bytes below which even such an operator is no matter."""


def kind_of(row: TraceRow) -> RowKind:
    """What an operator is."""
    if row.view:
        return RowKind.FREE
    if row.name == ATTENTION:
        return RowKind.ATTENTION
    for kind, names in TABLES.items():
        if row.name in names:
            return kind
    return RowKind.FUSIBLE if row.pointwise else RowKind.UNKNOWN


def is_suspicious(row: TraceRow) -> bool:
    """Whether an unknown operator may compute much: a name like a product's, and much data."""
    bytes_moved = sum(value.elements * value.width for value in (*row.reads, *row.writes))
    return bytes_moved > NOTABLE and LIKE_A_PRODUCT.search(row.name.lower()) is not None
