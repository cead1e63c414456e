"""numpy's scalars and arrays as leaves of the state codec.

An array is its type, shape, memory order and bytes. Arrays of Python objects, subclasses of ``ndarray`` and
types whose description does not give the same type again are refused. numpy is imported only to read such a
value, or when one is at hand anyway.
"""

from __future__ import annotations

import re
from math import prod
from typing import Any, Final

from koogbook.state.leaves import (
    Leaf,
    decode_bytes,
    encode_bytes,
    read_int,
    read_text,
    write_text,
)
from koogbook.state.nodes import (
    Misfit,
    Node,
    expect,
    expect_list,
    payload,
)

_PLAIN_DTYPE: Final = re.compile(r"[<>|=](b1|[iufc]\d{1,2}|[SUV]\d{1,9}|[mM]8(\[\d{0,9}[a-zA-Zμ]{1,7}\])?)")


def _describe_dtype(dtype: Any) -> Node:
    from numpy.lib.format import dtype_to_descr

    if dtype.hasobject:
        raise Misfit(
            "a numpy array of Python objects cannot be stored; convert it to a list or to a typed array"
        )
    described = _as_lists(dtype_to_descr(dtype))
    again = read_dtype(described)
    if again != dtype or again.isalignedstruct != dtype.isalignedstruct or dtype.metadata:
        raise Misfit(f"numpy's type {dtype!r} cannot be stored exactly; convert the array to a plain type")
    return described


def _as_lists(described: Any) -> Node:
    if isinstance(described, list | tuple):
        return [_as_lists(part) for part in described]
    return described


def read_dtype(node: Node) -> Any:
    """The numpy type that is described by text, or by a list of fields."""
    import numpy as np
    from numpy.lib.format import descr_to_dtype

    if type(node) is str:
        if not _PLAIN_DTYPE.fullmatch(node):
            raise Misfit(f"{node[:60]!r} is no type of numpy that is stored")
        return np.dtype(node)
    return descr_to_dtype([_read_field(field) for field in expect(node, list)])


def _read_field(node: Node) -> tuple[Any, ...]:
    name, kind, *shape = expect(node, list)
    label = (
        tuple(expect(part, str) for part in expect_list(name, 2)) if type(name) is list else expect(name, str)
    )
    if type(kind) is str and not _PLAIN_DTYPE.fullmatch(kind):
        raise Misfit(f"{kind[:60]!r} is no type of numpy that is stored")
    nested = [_read_field(field) for field in kind] if type(kind) is list else expect(kind, str)
    return (label, nested, *(tuple(_read_shape(sizes)) for sizes in shape))


def _read_shape(node: Node) -> list[int]:
    sizes = [read_int(size) for size in expect(node, list)]
    if any(size < 0 for size in sizes):
        raise Misfit("an array cannot have a negative size")
    return sizes


# ------------------------------------------------------------------------------------------- arrays


def write_array(array: Any) -> Node:
    """An array as ``{"dtype", "shape", "order", "data"}``; the data are base64."""
    if array.dtype.itemsize == 0 and array.size:
        raise Misfit(f"a numpy array of {array.dtype!r}, whose items have no bytes, cannot be stored")
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    return {
        "dtype": _describe_dtype(array.dtype),
        "shape": list(array.shape),
        "order": order,
        "data": encode_bytes(array.tobytes(order)),
    }


def read_array(node: Node) -> Any:
    """The array that :func:`write_array` wrote, writeable."""
    import numpy as np

    fields = expect(node, dict)
    dtype, shape, data = (
        read_dtype(fields["dtype"]),
        _read_shape(fields["shape"]),
        decode_bytes(fields["data"]),
    )
    order = fields["order"]
    if order not in ("C", "F"):
        raise Misfit(f"the memory order of an array is C or F, not {order!r}")
    if prod(shape) * dtype.itemsize != len(data):
        raise Misfit(f"{len(data)} bytes are stored for an array of {shape} times {dtype.itemsize} bytes")
    if not data:
        if prod(shape):
            raise Misfit("an array whose items have no bytes is stored")
        return np.empty(shape, dtype, order)
    return np.frombuffer(bytearray(data), dtype).reshape(shape, order=order)


def _write_scalar(scalar: Any) -> Node:
    import numpy as np

    node = {"dtype": _describe_dtype(scalar.dtype), "data": encode_bytes(scalar.tobytes())}
    again = _read_scalar(node)
    if type(again) is not type(scalar) or again.dtype != scalar.dtype or again.tobytes() != scalar.tobytes():
        raise Misfit(
            f"the scalar type numpy.{type(scalar).__name__} cannot be stored exactly; "
            f"convert it to {np.dtype(type(scalar)).name} or to a Python value"
        )
    return {"$npscalar": node}


def _read_scalar(node: Node) -> Any:
    import numpy as np

    fields = expect(node, dict)
    data = bytearray(decode_bytes(fields["data"]))
    values = np.frombuffer(data, read_dtype(fields["dtype"]))
    if len(values) != 1:
        raise Misfit(f"one value is expected, {len(values)} are stored")
    return values[0]


def _write_str(scalar: Any) -> Node:
    text = str(scalar)
    if len(text) != len(scalar):
        raise Misfit("a numpy.str_ that ends in NUL cannot be stored; use str")
    return {"$npstr": write_text(text)}


def _read_str(node: Node) -> Any:
    import numpy as np

    return np.str_(read_text(payload(node, "str")))


def _read_bytes(node: Node) -> Any:
    import numpy as np

    return np.bytes_(decode_bytes(node))


_ARRAY: Final = Leaf(
    "ndarray", object, lambda array: {"$ndarray": write_array(array)}, read_array, (), "numpy"
)
_SCALAR: Final = Leaf("npscalar", object, _write_scalar, _read_scalar, (float, complex), "numpy")
_STR: Final = Leaf("npstr", object, _write_str, _read_str, (str,), "numpy")
_BYTES: Final = Leaf(
    "npbytes", object, lambda value: {"$npbytes": encode_bytes(value)}, _read_bytes, (bytes,), "numpy"
)

ARRAY_LEAVES: Final = {leaf.tag: leaf for leaf in (_ARRAY, _SCALAR, _STR, _BYTES)}


def array_leaf_of_type(kind: type) -> Leaf | None:
    """The leaf for values of exactly this type of numpy's."""
    import numpy as np

    if kind is np.ndarray:
        return _ARRAY
    if kind is np.str_:
        return _STR
    if kind is np.bytes_:
        return _BYTES
    return _SCALAR if issubclass(kind, np.generic) and kind is not np.object_ else None
