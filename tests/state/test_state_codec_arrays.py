"""numpy's and pandas' values in the state codec."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from numpy.typing import NDArray

from koogbook.errors import UndecodableValueError, UnencodableValueError
from koogbook.state.codec import decode_state, describe_type, encode_state

MONTHS = pd.date_range("2026-01-31", periods=3, freq="ME", tz=ZoneInfo("Asia/Shanghai"), name="month")
dtypes = st.one_of(
    arrays_of.integer_dtypes(endianness="?"),
    arrays_of.floating_dtypes(endianness="?"),
    arrays_of.boolean_dtypes(),
    arrays_of.complex_number_dtypes(),
    arrays_of.datetime64_dtypes(endianness="?"),
    arrays_of.timedelta64_dtypes(),
    arrays_of.byte_string_dtypes(min_len=1),
    arrays_of.unicode_string_dtypes(min_len=1),
)
any_arrays = arrays_of.arrays(dtypes, arrays_of.array_shapes(min_dims=0, min_side=0, max_side=3))


@settings(max_examples=120, deadline=None)
@given(any_arrays, st.booleans())
def test_an_array_keeps_type_shape_and_every_byte(array: Any, turned: bool) -> None:
    """NaT, NaN, byte order and transposed memory included."""
    value = array.T if turned else array
    back = decode_state(encode_state(value, np.ndarray), np.ndarray)

    assert (back.dtype, back.shape, back.tobytes()) == (value.dtype, value.shape, value.tobytes())


@pytest.mark.parametrize(
    "value",
    [
        np.float64(1.5),
        np.float16("nan"),
        np.int64(7),
        np.uint8(255),
        np.bool_(True),
        np.complex64(1 + 2j),
        np.str_("预算"),
        np.bytes_(b"a\x00b"),
        np.datetime64("2026-01-01", "D"),
        np.timedelta64("NaT", "s"),
    ],
    ids=repr,
)
def test_a_scalar_keeps_its_own_type(value: Any) -> None:
    """A numpy number is not a Python number."""
    back = decode_state(encode_state(value, type(value)), type(value))

    assert (type(back), back.dtype, back.tobytes()) == (type(value), value.dtype, value.tobytes())


def test_a_numpy_float_may_stand_for_a_float_and_stays_one_of_numpy() -> None:
    """It is a subclass of ``float``, as any mean of a column."""
    assert type(decode_state(encode_state(np.float64(2), float), float)) is np.float64


def test_a_structured_array_is_exact_and_writeable() -> None:
    """Field names, nested shapes and alignment come back."""
    dtype = np.dtype([("a", "i4"), ("b", [("c", "f8", (2,)), ("d", "U3")])])
    value = np.array([(1, ([2.0, 3.0], "x"))], dtype)
    back = decode_state(encode_state(value, np.ndarray), np.ndarray)

    assert (back.dtype, back.tobytes(), back.flags.writeable) == (dtype, value.tobytes(), True)


@pytest.mark.parametrize(
    ("value", "declared", "named"),
    [
        (np.array([{"k": 1}, None], dtype=object), np.ndarray, "Python objects"),
        (np.array([(1, [])], dtype=[("a", "i4"), ("b", "O")]), np.ndarray, "Python objects"),
        (np.ma.masked_array([1], [True]), np.ndarray, "MaskedArray"),
        (np.zeros(1, np.dtype([("a", "i1"), ("b", "f8")], align=True)), np.ndarray, "exactly"),
        (np.zeros(2), NDArray[np.int64], "float64"),
        (np.float32(1), float, "float32"),
        (np.int64(1), int, "int64"),
        (np.float64(1), Any, "float64"),
        (pd.Series([1]), pd.DataFrame, "Series"),
        (pd.DataFrame({"a": [{1, 2}]}), pd.DataFrame, "set"),
        (pd.period_range("2026", periods=2, freq="M"), pd.Index, "PeriodIndex"),
        (pd.DataFrame({"a": pd.arrays.SparseArray([0, 1])}), pd.DataFrame, "Sparse"),
        (pd.Timestamp("2026-01-01"), str, "Timestamp"),
    ],
    ids=lambda part: repr(part)[:40],
)
def test_what_would_not_be_exact_is_refused(value: Any, declared: Any, named: str) -> None:
    """Pointers, masks, gaps and foreign types are never written."""
    with pytest.raises(UnencodableValueError, match=named):
        encode_state(value, declared)


def test_a_frame_with_attrs_is_refused() -> None:
    """Notes on a frame would be gone after a restart."""
    frame = pd.DataFrame({"a": [1]})
    frame.attrs["source"] = "survey"

    with pytest.raises(UnencodableValueError, match="attrs"):
        encode_state(frame, pd.DataFrame)


FRAMES = [
    pd.DataFrame(),
    pd.DataFrame({"a": [1, 2], "b": [0.5, float("nan")], "c": [True, False]}),
    pd.DataFrame({"text": ["室内", None], "plain": pd.Series(["x", None], dtype=object)}),
    pd.DataFrame({"part": pd.Categorical(["u", None], ["v", "u"], ordered=True)}),
    pd.DataFrame({"n": pd.array([1, None], "Int8"), "f": pd.array([1.5, None], "Float32")}),
    pd.DataFrame({"b": pd.array([True, None], "boolean"), "s": pd.array(["x", None], "string")}),
    pd.DataFrame({"price": [1.0, 2.0, 3.0]}, index=MONTHS),
    pd.DataFrame({"gap": pd.to_timedelta([1, None], "s"), "when": pd.to_datetime(["2026-01-01", None])}),
    pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["x", None])),
    pd.DataFrame([[1, 2]], columns=["same", "same"]),
    pd.DataFrame({"a": [1, 1], "b": ["x", "y"], "c": [1, 2]}).set_index(["a", "b"]),
]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: ",".join(map(str, frame.columns)))
def test_a_frame_comes_back_identical(frame: pd.DataFrame) -> None:
    """Column types, missing values, index, names and frequency are those that were saved."""
    pd.testing.assert_frame_equal(decode_state(encode_state(frame, pd.DataFrame), pd.DataFrame), frame)


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([1, 2], name=("x", 1)),
        pd.Series(dtype="float32"),
        pd.Series([b"x", None, 1, "a"], dtype=object),
    ],
)
def test_a_series_comes_back_identical(series: Any) -> None:
    """Its name may be any label."""
    pd.testing.assert_series_equal(decode_state(encode_state(series, pd.Series), pd.Series), series)


@pytest.mark.parametrize(
    "index", [MONTHS, pd.RangeIndex(2, 9, 3), pd.Index(["a", 1]), pd.CategoricalIndex(["u"])]
)
def test_an_index_comes_back_identical(index: Any) -> None:
    """Kind, frequency, zone and name are kept."""
    pd.testing.assert_index_equal(decode_state(encode_state(index, pd.Index), pd.Index), index, exact=True)


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        (pd.Timestamp("2026-01-01 10:00:00.000000007", tz=ZoneInfo("Asia/Shanghai")), pd.Timestamp),
        (pd.Timestamp("2026-10-25 01:30", tz="UTC").tz_convert(ZoneInfo("Europe/Berlin")), datetime),
        (pd.Timestamp("2026-01-01"), date),
        (pd.Timedelta("3ns"), pd.Timedelta),
        (pd.NaT, datetime | None),
        (pd.NA, type(pd.NA)),
    ],
    ids=repr,
)
def test_pandas_time_values_keep_unit_and_zone(value: Any, declared: Any) -> None:
    """A timestamp is more than a datetime: it has nanoseconds."""
    back = decode_state(encode_state(value, declared), declared)

    assert (type(back), repr(back), getattr(back, "unit", "")) == (
        type(value),
        repr(value),
        getattr(value, "unit", ""),
    )


@pytest.mark.parametrize(
    "body",
    [
        b'{"$ndarray": {"dtype": "|O", "shape": [1], "order": "C", "data": "AAAAAAAAAAA="}}',
        b'{"$ndarray": {"dtype": [["a", "|O"]], "shape": [1], "order": "C", "data": "AAAAAAAAAAA="}}',
        b'{"$ndarray": {"dtype": "<f8", "shape": [1000000000000], "order": "C", "data": ""}}',
        b'{"$ndarray": {"dtype": "<U0", "shape": [1000000000000], "order": "C", "data": ""}}',
        b'{"$ndarray": {"dtype": "<f8", "shape": [-1], "order": "C", "data": ""}}',
        b'{"$ndarray": {"dtype": "<f8", "shape": [0, 1000000000000000000000], "order": "C", "data": ""}}',
        b'{"$ndarray": {}}',
        b'{"$npscalar": {"dtype": "<f8", "data": "AAAAAAAA+D8="}}',
    ],
)
def test_a_forged_array_is_refused(body: bytes) -> None:
    """No pointer is read and no memory is taken that the data do not fill."""
    with pytest.raises(UndecodableValueError):
        decode_state(body, np.ndarray)


def test_the_item_type_is_part_of_the_description() -> None:
    """``NDArray[np.float64]`` and ``NDArray[np.int64]`` are two types."""
    assert describe_type(NDArray[np.float64]) == "ndarray[float64]"
