"""pandas' frames, series, indexes and time values as leaves of the state codec.

A column is stored by its kind: a numpy array, text, a category, a zoned time, nullable numbers, or plain
Python values one by one. Whatever is written is read back and compared before it counts as saved; what would
come back changed is refused. pandas is imported only to read such a value, or when one is at hand anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any, Final

from koogbook.state.arrays import read_array, write_array
from koogbook.state.leaves import (
    Leaf,
    leaf_of_tag,
    leaf_of_type,
    read_text,
    read_zone,
    write_text,
    write_zone,
)
from koogbook.state.nodes import (
    Misfit,
    Node,
    expect,
    expect_list,
    node_tag,
    payload,
)

_NULLABLE: Final = frozenset(
    {
        "Int8",
        "Int16",
        "Int32",
        "Int64",
        "UInt8",
        "UInt16",
        "UInt32",
        "UInt64",
        "Float32",
        "Float64",
        "boolean",
    }
)


# ------------------------------------------------------------------------------------------- single values


def _write_cell(value: Any) -> Node:
    if type(value) is tuple:
        return {"$tuple": [_write_cell(part) for part in value]}
    leaf = leaf_of_type(type(value))
    if leaf is None or leaf.tag in ("DataFrame", "Series", "Index", "ndarray"):
        raise Misfit(f"a cell or label of type {type(value).__name__} cannot be stored; use plain values")
    return leaf.write(value)


def _read_cell(node: Node) -> Any:
    tag = node_tag(node)
    if tag == "tuple":
        return tuple(_read_cell(part) for part in expect(payload(node, tag), list))
    leaf = leaf_of_tag(tag)
    if leaf is None:
        raise Misfit(f"{tag[:60]!r} is no type of a cell or label")
    return leaf.read(payload(node, tag))


def _write_timestamp(value: Any) -> Node:
    zone = None if value.tzinfo is None else write_zone(value.tzinfo)
    return {"$Timestamp": [int(value.asm8.astype("int64")), value.unit, zone]}


def _read_timestamp(node: Node) -> Any:
    import numpy as np
    import pandas as pd

    count, unit, zone = expect_list(node, 3)
    moment = pd.Timestamp(np.datetime64(expect(count, int), expect(unit, str)))
    return moment if zone is None else moment.tz_localize("UTC").tz_convert(read_zone(zone))


def _write_pandas_timedelta(value: Any) -> Node:
    return {"$Timedelta": [int(value.asm8.astype("int64")), value.unit]}


def _read_pandas_timedelta(node: Node) -> Any:
    import numpy as np
    import pandas as pd

    count, unit = expect_list(node, 2)
    return pd.Timedelta(np.timedelta64(expect(count, int), expect(unit, str)))


def _read_nat(node: Node) -> Any:
    import pandas as pd

    return pd.NaT


def _read_na(node: Node) -> Any:
    import pandas as pd

    return pd.NA


# ------------------------------------------------------------------------------------------- columns


def _write_values(values: Any) -> Node:
    """A column's values (an array of pandas' or numpy's) as ``{kind: data}``."""
    import numpy as np
    import pandas as pd

    if type(values) is pd.arrays.NumpyExtensionArray:
        values = values.to_numpy()
    dtype = values.dtype
    if isinstance(dtype, np.dtype):
        plain = np.asarray(values)
        if dtype.hasobject:
            return {"cells": [_write_cell(cell) for cell in plain]}
        return {"array": write_array(plain)}
    if isinstance(dtype, pd.StringDtype):
        texts = [write_text(text) if isinstance(text, str) else None for text in values]
        return {"text": [dtype.storage, "NA" if dtype.na_value is pd.NA else "nan", texts]}
    if isinstance(dtype, pd.CategoricalDtype):
        categories = _write_index(pd.Index(dtype.categories))
        return {"category": [categories, write_array(np.asarray(values.codes)), bool(dtype.ordered)]}
    if isinstance(dtype, pd.DatetimeTZDtype):
        utc = values.tz_convert("UTC").tz_localize(None)
        return {"zoned": [write_zone(dtype.tz), write_array(np.asarray(utc))]}
    if dtype.name in _NULLABLE:
        mask = np.asarray(values.isna())
        filled = values.to_numpy(dtype=dtype.numpy_dtype, na_value=dtype.numpy_dtype.type(0))
        return {"nullable": [dtype.name, write_array(filled), write_array(mask)]}
    raise Misfit(f"a pandas column of type {dtype} cannot be stored exactly; convert it to another type")


def _read_values(node: Node) -> Any:
    import numpy as np
    import pandas as pd

    ((kind, data),) = expect(node, dict).items()
    if kind == "array":
        return read_array(data)
    if kind == "cells":
        cells = np.empty(len(expect(data, list)), dtype=object)
        cells[:] = [_read_cell(cell) for cell in data]
        return cells
    if kind == "text":
        storage, missing, texts = expect_list(data, 3)
        dtype = pd.StringDtype(storage, na_value=pd.NA if missing == "NA" else np.nan)
        found = [None if text is None else read_text(payload(text, "str")) for text in expect(texts, list)]
        return pd.array(found, dtype=dtype)
    if kind == "category":
        categories, codes, ordered = expect_list(data, 3)
        dtype = pd.CategoricalDtype(_read_index(categories), ordered=expect(ordered, bool))
        return pd.Categorical.from_codes(read_array(codes), dtype=dtype)
    if kind == "zoned":
        zone, moments = expect_list(data, 2)
        return pd.DatetimeIndex(read_array(moments)).tz_localize("UTC").tz_convert(read_zone(zone)).array
    if kind == "nullable":
        name, filled, mask = expect_list(data, 3)
        if name not in _NULLABLE:
            raise Misfit(f"{name!r} is no nullable type of pandas")
        makers = {"b": pd.arrays.BooleanArray, "F": pd.arrays.FloatingArray}
        return makers.get(name[0], pd.arrays.IntegerArray)(read_array(filled), read_array(mask))
    raise Misfit(f"{kind[:60]!r} is no kind of pandas column")


# ----------------------------------------------------------------------------------- index, series, frame


def _write_index(index: Any) -> Node:
    import numpy as np
    import pandas as pd

    if type(index) is pd.RangeIndex:
        return {"range": [index.start, index.stop, index.step], "name": _write_cell(index.name)}
    if type(index) is pd.MultiIndex:
        levels = [_write_index(level) for level in index.levels]
        codes = [write_array(np.asarray(code)) for code in index.codes]
        return {"levels": levels, "codes": codes, "names": [_write_cell(name) for name in index.names]}
    if type(index) not in (pd.Index, pd.DatetimeIndex, pd.TimedeltaIndex, pd.CategoricalIndex):
        raise Misfit(f"a pandas {type(index).__name__} cannot be stored exactly; convert it to a plain Index")
    frequency = getattr(index, "freqstr", None)
    return {"values": _write_values(index.array), "name": _write_cell(index.name), "freq": frequency}


def _read_index(node: Node) -> Any:
    import pandas as pd

    fields = expect(node, dict)
    if "range" in fields:
        start, stop, step = (expect(number, int) for number in expect_list(fields["range"], 3))
        return pd.RangeIndex(start, stop, step, name=_read_cell(fields["name"]))
    if "levels" in fields:
        levels = [_read_index(level) for level in expect(fields["levels"], list)]
        codes = [read_array(code) for code in expect(fields["codes"], list)]
        names = [_read_cell(name) for name in expect(fields["names"], list)]
        return pd.MultiIndex(levels=levels, codes=codes, names=names)
    values = _read_values(fields["values"])
    name = _read_cell(fields["name"])
    if fields["freq"] is not None:
        kind = pd.TimedeltaIndex if values.dtype.kind == "m" else pd.DatetimeIndex
        return kind(values, freq=expect(fields["freq"], str), name=name)
    return pd.Index(values, dtype=values.dtype, name=name, tupleize_cols=False)


def _write_extras(value: Any) -> Node:
    if value.attrs or not value.flags.allows_duplicate_labels:
        raise Misfit(f"a {type(value).__name__} with attrs or flags cannot be stored; keep these beside it")
    return None


def _write_series(series: Any) -> Node:
    _write_extras(series)
    return {
        "index": _write_index(series.index),
        "values": _write_values(series.array),
        "name": _write_cell(series.name),
    }


def _read_series(node: Node) -> Any:
    import pandas as pd

    fields = expect(node, dict)
    values = _read_values(fields["values"])
    series = pd.Series(values, index=_read_index(fields["index"]), dtype=values.dtype)
    series.name = _read_cell(fields["name"])
    return series


def _write_frame(frame: Any) -> Node:
    _write_extras(frame)
    columns = [_write_values(frame.iloc[:, place].array) for place in range(frame.shape[1])]
    return {"index": _write_index(frame.index), "columns": _write_index(frame.columns), "data": columns}


def _read_frame(node: Node) -> Any:
    import pandas as pd

    fields = expect(node, dict)
    index = _read_index(fields["index"])
    columns = {}
    for place, column in enumerate(expect(fields["data"], list)):
        values = _read_values(column)
        columns[place] = pd.Series(values, index=index, dtype=values.dtype)
    frame = pd.DataFrame(columns, index=index)
    frame.columns = _read_index(fields["columns"])
    return frame


def _are_identical(tag: str, left: Any, right: Any) -> bool:
    from pandas import testing

    try:
        if tag == "DataFrame":
            testing.assert_frame_equal(
                left, right, check_exact=True, check_index_type=True, check_column_type=True
            )
        elif tag == "Series":
            testing.assert_series_equal(left, right, check_exact=True, check_index_type=True)
        else:
            testing.assert_index_equal(left, right, exact=True, check_exact=True)
    except AssertionError:
        return False
    return True


def _checked(tag: str, write: Callable[[Any], Node], read: Callable[[Node], Any]) -> Callable[[Any], Node]:
    def write_checked(value: Any) -> Node:
        node = write(value)
        again = read(node)
        # The nodes hold every bit of the data; pandas' own comparison looks at all types and names.
        if type(again) is not type(value) or write(again) != node or not _are_identical(tag, again, value):
            raise Misfit(f"this pandas {tag} would come back changed, so it cannot be stored")
        return {f"${tag}": node}

    return write_checked


FRAME_LEAVES: Final = {
    leaf.tag: leaf
    for leaf in (
        Leaf(
            "DataFrame", object, _checked("DataFrame", _write_frame, _read_frame), _read_frame, (), "pandas"
        ),
        Leaf("Series", object, _checked("Series", _write_series, _read_series), _read_series, (), "pandas"),
        Leaf("Index", object, _checked("Index", _write_index, _read_index), _read_index, (), "pandas"),
        Leaf("Timestamp", object, _write_timestamp, _read_timestamp, (datetime, date), "pandas"),
        Leaf("Timedelta", object, _write_pandas_timedelta, _read_pandas_timedelta, (timedelta,), "pandas"),
        Leaf("NaT", object, lambda value: {"$NaT": None}, _read_nat, (datetime, date), "pandas"),
        Leaf("NA", object, lambda value: {"$NA": None}, _read_na, (), "pandas"),
    )
}


def frame_leaf_of_type(kind: type) -> Leaf | None:
    """The leaf for values of exactly this type of pandas'."""
    import pandas as pd

    if issubclass(kind, pd.Index):
        return FRAME_LEAVES["Index"]
    names = {
        pd.DataFrame: "DataFrame",
        pd.Series: "Series",
        pd.Timestamp: "Timestamp",
        pd.Timedelta: "Timedelta",
        type(pd.NaT): "NaT",
        type(pd.NA): "NA",
    }
    return FRAME_LEAVES[names[kind]] if kind in names else None
