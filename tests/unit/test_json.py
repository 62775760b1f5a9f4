"""JSON as the dialects write and read it: ASCII, no nulls; errors name the field and are never internal."""

import json
import math
from typing import Any

import msgspec
import pytest

from polystream.core.errors import InvalidRequest
from polystream.dialects.json import MAX_DEPTH, convert, decode, dumps, quote, whole


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    """Something nested."""

    number: int
    names: dict[str, str] = {}


class Shape(msgspec.Struct, forbid_unknown_fields=True):
    """A body."""

    word: str | None = None
    number: float | None = None
    inner: Inner | None = None
    items: list[Inner] = []
    anything: Any = None


def refused(body: str | bytes) -> InvalidRequest:
    """The error that a body is refused with."""
    with pytest.raises(InvalidRequest) as raised:
        decode(body if isinstance(body, bytes) else body.encode(), Shape)
    return raised.value


def nested(levels: int, opened: str = "[", closed: str = "]") -> str:
    """A body of so many levels."""
    return '{"anything":' + opened * (levels - 1) + "1" + closed * (levels - 1) + "}"


@pytest.mark.parametrize("write", [dumps, whole])
def test_an_object_is_written_without_blanks_and_in_its_own_order(write: Any):
    assert write({"b": 1, "a": [True, {"c": 0.5}], "d": "x y"}) == '{"b":1,"a":[true,{"c":0.5}],"d":"x y"}'


@pytest.mark.parametrize("write", [dumps, whole])
@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("é", "\\u00e9"),
        ("\u0085\u2028\u2029", "\\u0085\\u2028\\u2029"),
        ("🌍", "\\ud83c\\udf0d"),
        ('"\\/\x00\n\r\t', '\\"\\\\/\\u0000\\n\\r\\t'),
    ],
)
def test_whatever_a_text_holds_the_json_is_ascii_on_one_line(write: Any, text: str, written: str):
    assert quote(text) == f'"{written}"'
    assert write({text: text}) == f'{{"{written}":"{written}"}}'
    assert json.loads(write({text: text})) == {text: text}


def test_absent_fields_are_left_out_at_the_outer_level_only():
    assert dumps({"a": None, "b": {"c": None}, "d": [], "e": "", "f": 0, "g": False}) == (
        '{"b":{"c":null},"d":[],"e":"","f":0,"g":false}'
    )
    assert whole({"a": None}) == '{"a":null}'


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_cannot_say_is_never_written(number: float):
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps({"a": number})


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ('{"word":1}', "word"),
        ('{"number":"1"}', "number"),
        ('{"number":1e999}', "number"),
        ('{"other":1}', "other"),
        ('{"inner":{}}', "inner.number"),
        ('{"inner":{"number":1.5}}', "inner.number"),
        ('{"inner":{"number":true}}', "inner.number"),
        ('{"inner":{"number":1,"more":2}}', "inner.more"),
        ('{"items":[{"number":1},{"number":"2"}]}', "items[1].number"),
        ('{"items":[{"number":1},{"number":2,"more":3}]}', "items[1].more"),
        ('{"items":{}}', "items"),
        ('{"inner":{"number":1,"names":{"a":1}}}', "inner.names[...]"),
    ],
)
def test_an_error_names_the_field_at_fault(body: str, param: str):
    error = refused(body)
    assert error.param == param
    assert error.message.startswith(f"{param}: ")


def test_an_error_says_what_is_wrong():
    assert refused('{"inner":{"number":"1"}}').message == "inner.number: Expected `int`, got `str`"
    assert refused('{"other":1}').message == "other: Object contains unknown field `other`"


def test_a_body_that_is_no_object_has_no_field_to_name():
    error = refused("[]")
    assert error.param is None
    assert error.message == "Expected `object`, got `array`"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" ",
        b"{",
        b'{"word":',
        b'{"word":"a"',
        b'{"word":"a"}}',
        b'{"word":"a"} {}',
        b"{'word':'a'}",
        b'{"word":"a",}',
        b'{"number":NaN}',
        b'{"number":Infinity}',
        b'{"number":01}',
        b'\xef\xbb\xbf{"word":"a"}',
        '{"word":"a"}'.encode("utf-16"),
        b'{"word":"\xff"}',
        b'{"\xff":1}',
        b'{"anything":["\xc3"]}',
        b'{"word":"\\ud800"}',
        b'{"word":"\\udc00\\ud800"}',
        b'{"\\ud800":1}',
        b'{"word":"a\nb"}',
        b'{"word":"\\x41"}',
    ],
)
def test_what_is_no_json_is_refused_and_never_internal(body: bytes):
    error = refused(body)
    assert error.message.startswith("The body is not JSON: ")
    assert error.param is None


@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ('{"a":', "}")])
def test_a_body_may_be_nested_to_a_depth_and_no_deeper(opened: str, closed: str):
    assert decode(nested(MAX_DEPTH, opened, closed).encode(), Shape).anything is not None
    error = refused(nested(MAX_DEPTH + 1, opened, closed))
    assert error.message == "The body has more than 100 levels of lists and objects."
    assert error.param is None


@pytest.mark.parametrize("levels", [400, 900, 5_000, 500_000])
def test_no_depth_is_internal(levels: int):
    refused(nested(levels))
    refused(nested(levels)[: levels // 2])


def test_many_lists_beside_each_other_are_not_deep():
    items = ",".join(['{"number":1}'] * 1_000)
    assert len(decode(f'{{"items":[{items}]}}'.encode(), Shape).items) == 1_000


def test_brackets_in_a_text_are_not_depth():
    text = "[{" * 1_000
    assert decode(f'{{"word":"{text}"}}'.encode(), Shape).word == text


def test_decoded_data_becomes_a_struct_by_the_same_rules():
    assert convert({"word": "a", "inner": {"number": 1}}, Shape) == Shape(word="a", inner=Inner(1))
    with pytest.raises(InvalidRequest) as raised:
        convert({"items": [{"number": "1"}]}, Shape)
    assert raised.value.param == "items[0].number"
