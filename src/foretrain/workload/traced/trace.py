"""Traces of networks, and the kinds of their operators.

Traces: every operator that a network runs in a forward pass, with the memory it touches.

Whoever records one (`study.tracing`) knows a framework; here are names, shapes and numbers alone.

What operators of PyTorch are: products, kernels of their own, or value by value.

Names that stand in no table here are counted, priced by the bytes they move, and told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from math import prod
from typing import Final

from foretrain.workload.operator import Size

RowOption = float | tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedTensor:
    """A tensor that an operator reads or writes.

    Attributes:
        storage: the memory it lies in; views of one tensor share it.
        shape: elements along each dimension.
        width: bytes of one element.
        narrow: whether elements have the precision of activations; others keep theirs whatever
            the precision of the workload is.
        real: whether elements are floating-point numbers.
        whole: elements that fit in the memory it lies in: more than its own for a part of it, fewer
            for a tensor that repeats itself. None for its own.
    """

    storage: int
    shape: tuple[int, ...]
    width: float
    narrow: bool = True
    real: bool = True
    whole: int | None = None

    @property
    def elements(self) -> int:
        """Elements; of an expanded tensor, those that it seems to have."""
        return prod(self.shape)

    @property
    def size(self) -> Size:
        """How much data that is."""
        return self._data(self.elements if self.whole is None else min(self.elements, self.whole))

    @property
    def memory(self) -> Size:
        """How much memory stays taken as long as somebody holds it."""
        return self._data(self.elements if self.whole is None else self.whole)

    def _data(self, elements: int) -> Size:
        return Size(values=elements) if self.narrow else Size(fixed=elements * self.width)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow:
    """One operator as it ran.

    Attributes:
        name: of the operator, such as `aten.mm`.
        module: the innermost module that was running, as a dotted path; empty for the root.
        reads: what it read.
        writes: what it wrote.
        view: whether it only looks at memory in another way.
        pointwise: whether each element that it writes follows from the elements at its place.
        kept: what it made the framework keep for the backward pass.
        options: what else decides what it does, such as the stride of a convolution.
        returned: what its backward pass read and wrote; None if it has none.
        returns: kernels of its backward pass.
        input_gradient: whether anything it reads but parameters has a gradient.
    """

    name: str
    module: str = ""
    reads: tuple[TracedTensor, ...] = ()
    writes: tuple[TracedTensor, ...] = ()
    view: bool = False
    pointwise: bool = False
    kept: tuple[TracedTensor, ...] = ()
    options: Mapping[str, RowOption] = field(default_factory=dict)
    returned: Size | None = None
    returns: int = 0
    input_gradient: bool = True

    def number(self, option: str, default: float = 0.0) -> float:
        """An option that is one number."""
        value = self.options.get(option, default)
        return default if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedParameter:
    """A parameter of the network.

    Attributes:
        name: a dotted path.
        storage: the memory it lies in.
        count: numbers that it has.
        trained: whether it has a gradient.
    """

    name: str
    storage: int
    count: float
    trained: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedModule:
    """A module of the network.

    Attributes:
        kind: its class.
        children: names of the modules right below it, in the order in which they were added.
        chain: whether it is nothing but its children, one after the other.
        owns: whether it has parameters of its own, beside those of its children.
    """

    kind: str
    children: tuple[str, ...] = ()
    chain: bool = False
    owns: bool = False


@dataclass(frozen=True, kw_only=True)
class ModelTrace:
    """A forward pass of some samples, and what it kept for the backward pass.

    Attributes:
        name: of the network.
        rows: in the order in which they ran.
        parameters: each once, however many names it has.
        parts: modules by their dotted path; the root is "".
        inputs: storages of the samples.
        samples: that ran at once.
        remarks: what the recorder had to assume, in words.
    """

    name: str
    rows: tuple[TraceRow, ...]
    parameters: tuple[TracedParameter, ...]
    parts: Mapping[str, TracedModule]
    inputs: frozenset[int]
    samples: int
    remarks: tuple[str, ...] = field(default=())

    @cached_property
    def owners(self) -> Mapping[int, tuple[TracedParameter, ...]]:
        """The parameters that lie in each storage."""
        found: dict[int, tuple[TracedParameter, ...]] = {}
        for each in self.parameters:
            found[each.storage] = (*found.get(each.storage, ()), each)
        return found


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
