"""The operators of the library that a kernel may call, by their names in `aten`. What is not named here is refused.

They allocate, fill with one value, look at memory in another way, copy, and say what a tensor is. Nobody else's
operators are: of another namespace none is allowed, be it one that the library adds or one that a kernel registers.
"""

from __future__ import annotations

_ALLOCATED = "empty empty_like empty_strided empty_permuted new_empty new_empty_strided resize_"
_COPIED = "copy_ clone _to_copy _lazy_clone"
_LAID_OUT = "_cudnn_rnn_flatten_weight"
"""What moving a recurrent module to a device calls: its weights, copied into one piece of memory."""
_FILLS = "fill_ zero_ zeros zeros_like new_zeros full full_like new_full ones ones_like new_ones scalar_tensor"
_VIEWS = """
    alias as_strided as_strided_ detach detach_ diagonal expand permute select slice split split_with_sizes
    squeeze squeeze_ t t_ transpose transpose_ unbind unfold unsqueeze unsqueeze_ view view_as_real view_as_complex
    _unsafe_view _reshape_alias unsafe_split unsafe_split_with_sizes set_ lift lift_fresh _conj _neg_view
    """
_VALUES = "_local_scalar_dense item is_pinned"
_WAYS = """
    _autocast_to_full_precision _autocast_to_reduced_precision atleast_1d atleast_2d atleast_3d broadcast_tensors
    broadcast_to chunk conj contiguous dsplit expand_as flatten hsplit imag mH mT matrix_H adjoint moveaxis movedim
    narrow numpy_T pin_memory _pin_memory positive ravel real reshape reshape_as resolve_conj resolve_neg swapaxes
    swapaxes_ swapdims swapdims_ tensor_split to type_as unflatten unsafe_chunk view_as vsplit
    """
"""Other names of these, which call them."""
_DESCRIPTIONS = """
    _debug_has_internal_overlap _has_compatible_shallow_copy_type _is_zerotensor _version can_cast data dim get_device
    is_complex is_conj is_contiguous is_distributed is_floating_point is_inference is_leaf is_neg is_nonzero is_signed
    numel output_nr promote_types requires_grad_ result_type retain_grad retains_grad set_data size storage_offset
    stride sym_is_contiguous sym_numel sym_size sym_storage_offset sym_stride record_stream
    """
ALLOCATIONS = frozenset(_ALLOCATED.split())
COPIES = frozenset(_COPIED.split())
_ALLOWED = ALLOCATIONS | COPIES | {_LAID_OUT, *_FILLS.split(), *_VIEWS.split(), *_VALUES.split(), *_WAYS.split()}
_ALLOWED |= frozenset(_DESCRIPTIONS.split())
COMPARING = frozenset({"aten::equal", "aten::is_same_size"})
"""By which the harness compares bits: no kernel may call them, and they are never taken away. They give a bool."""
_TRACING = "profiler"  # the namespace of what marks a time line


def is_allowed(name: str) -> bool:
    """Whether a kernel may call an operator such as "aten::view" or "aten::view.dtype"."""
    space, _, operator = name.partition("::")
    return (space == "aten" and operator.partition(".")[0] in _ALLOWED) or space == _TRACING


def is_operator(name: str) -> bool:
    """Whether what a profiler names is an operator, by the form of its name."""
    space, colons, operator = name.partition("::")
    return bool(colons) and space.isidentifier() and operator.partition(".")[0].isidentifier()
