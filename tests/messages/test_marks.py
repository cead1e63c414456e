"""What stands for a picture or for unknown data where there is room for text only."""

from __future__ import annotations

import pytest

from koogbook.messages.marks import attachment_mark, foreign_mark, size_in_words
from koogbook.messages.parts import Attachment, Foreign


@pytest.mark.parametrize(
    ("part", "mark"),
    [
        (Attachment("image", "image/png", data=b"\0" * 150_000), "[image/png, 146 KB]"),
        (
            Attachment("file", "application/pdf", data=b"1234", name="bill.pdf"),
            "[application/pdf, bill.pdf, 4 bytes]",
        ),
        (Attachment("image", url="https://example.org/a.png"), "[image, https://example.org/a.png]"),
        (Attachment("audio", "audio/wav", file_id="file-1"), "[audio/wav, file-1]"),
    ],
)
def test_an_attachment_has_a_short_mark(part: Attachment, mark: str) -> None:
    """It says what it is and how large, never its bytes [KB-025]."""
    assert attachment_mark(part) == mark


def test_a_long_address_is_cut() -> None:
    """There is room for one line."""
    assert len(attachment_mark(Attachment("image", url="https://example.org/" + "x" * 5_000))) < 100


def test_an_address_that_is_the_data_is_shown_as_its_size() -> None:
    """It would be as long as the picture [KB-025]."""
    assert (
        attachment_mark(Attachment("image", url="data:image/svg+xml," + "x" * 8_000))
        == "[image, 6 KB in its address]"
    )


def test_unknown_data_is_shown_without_what_is_encoded_in_it() -> None:
    """Its readable fields stay, base64 text becomes a size."""
    part = Foreign("snapshot", '{"title": "Harbour", "data": "' + "A" * 4_000 + '"}')

    assert foreign_mark(part) == '[snapshot] {"title": "Harbour", "data": "[3 KB of data]"}'


@pytest.mark.parametrize(
    ("size", "words"), [(0, "0 bytes"), (1_023, "1023 bytes"), (1_024, "1 KB"), (3_500_000, "3.3 MB")]
)
def test_a_size_is_a_number_for_a_person(size: int, words: str) -> None:
    """Bytes, kilobytes by 1,024, megabytes with one place."""
    assert size_in_words(size) == words
