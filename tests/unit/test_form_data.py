"""Forms as pages send them."""

import pytest

from polystream.core.errors import InvalidRequest
from polystream.protocols.form_data import MULTIPART, URLENCODED, media_type, read_form

BOUNDARY = f"{MULTIPART}; boundary=----WebKitFormBoundaryx7"


def multipart(*parts: tuple[str, str]) -> bytes:
    """As browsers write it."""
    said = [
        f"------WebKitFormBoundaryx7\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n"
        for head, content in parts
    ]
    return "".join([*said, "------WebKitFormBoundaryx7--\r\n"]).encode()


def test_an_urlencoded_form():
    assert read_form(f"{URLENCODED}; charset=UTF-8", b"prompt=a+%E6%97%A5%0Ab&model=") == [
        ("prompt", "a 日\nb"),
        ("model", ""),
    ]


@pytest.mark.parametrize("text", ["日本 🌍", "a\r\nb\r\n", "", "--x\r\n"])
def test_a_multipart_form(text: str):
    sent = multipart(('name="prompt"', text), ('name="model"', "m"))
    assert read_form(BOUNDARY, sent) == [("prompt", text), ("model", "m")]


def test_a_multipart_form_with_a_file_is_refused_by_its_field():
    with pytest.raises(InvalidRequest) as refused:
        read_form(BOUNDARY, multipart(('name="prompt"; filename="a.txt"', "a")))
    assert refused.value.param == "prompt"


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (URLENCODED, b"prompt"),
        (URLENCODED, b"prompt=%ff"),
        (URLENCODED, b"\xff"),
        (URLENCODED, b"&".join([b"a=1"] * 200)),
        (BOUNDARY, b"prompt=a"),
        (BOUNDARY, multipart(('name="prompt"', "a"))[:-4]),
        (BOUNDARY, multipart(("", "a"))),
        (BOUNDARY, multipart(*[('name="a"', "1")] * 101)),
        (BOUNDARY, multipart(('name="prompt"', "a")).replace(b"\r\na\r\n", b"\r\n\xff\r\n")),
        (MULTIPART, multipart(('name="prompt"', "a"))),
    ],
)
def test_what_is_no_form_is_refused(content_type: str, body: bytes):
    with pytest.raises(InvalidRequest):
        read_form(content_type, body)


def test_a_media_type_has_no_parameters():
    assert media_type(" Text/HTML ; charset=x") == "text/html"
