"""What a prompt diff proves: which facts survived, and what holds of the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from koogbook.compression.fact_check import FactFinding
from koogbook.messages.ledger import Ledger
from koogbook.messages.pairing import pair_messages
from koogbook.notebook.views.diff_view.model import Check, FactRow, SentenceRow
from koogbook.notebook.views.look.isolates import set_apart, told_apart
from koogbook.notebook.views.look.measure import count, thousands

_MOST_NUMBERS = 4
_MOST_SUMMARIES = 4


def fact_rows(ledger: Ledger, facts: Sequence[FactFinding], names: Mapping[int, str]) -> tuple[FactRow, ...]:
    """The findings in words, with the messages that held each fact before and after."""
    fates = {entry.position: entry.fate for entry in ledger.fates}
    return tuple(_fact_row(finding, names, fates) for finding in facts)


def _fact_row(finding: FactFinding, names: Mapping[int, str], fates: Mapping[int, str]) -> FactRow:
    before, after = numbers(finding.before), numbers(finding.after)
    if finding.found == "lost":
        became = ", ".join(dict.fromkeys(fates[position] for position in finding.before if position in fates))
        where = f"was in {before}, {became}" if became else f"was in {before}"
    elif finding.found == "never there":
        where = "in no message before"
    else:
        where = f"{before} \u2192 {after}" if before else f"new in {after}"
    return FactRow(finding.fact, finding.kind, finding.found, _found_word(finding, names), where)


def _found_word(finding: FactFinding, names: Mapping[int, str]) -> str:
    if finding.found != "in a summary":
        return finding.found
    places = [f"{names.get(place, 'a summary')}, sentence {number}" for place, number in finding.sentences]
    if not places:
        places = [names.get(place, "a summary") for place in finding.after]
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f"in {places[0]}{more}"


def checks(
    ledger: Ledger, facts: Sequence[FactFinding], names: Mapping[int, str], moved: int
) -> tuple[Check, ...]:
    """What a reader would check by hand, done."""
    return (
        *_status(ledger),
        *_pairs(ledger),
        _all_have_a_fate(ledger),
        *_moved(moved),
        *_summaries(ledger, names),
        *_facts(facts),
        *(Check("note", told_apart(note)) for note in ledger.notes),
    )


def _status(ledger: Ledger) -> list[Check]:
    if ledger.status == "refused":
        grown = f"{thousands(ledger.tokens_after)} tokens instead of {thousands(ledger.tokens_before)}"
        return [Check("bad", f"refused: the result is not shorter ({grown}); the prompt is as it was")]
    return []


def _pairs(ledger: Ledger) -> list[Check]:
    pairing = pair_messages(ledger.after)
    calls = sum(len(message.calls) for message in ledger.after)
    orphans = sum(defect.kind == "orphan_result" for defect in pairing.defects)
    unanswered = sum(defect.kind == "unanswered_call" for defect in pairing.defects)
    found: list[Check] = []
    if calls or orphans:
        closed = len(pairing.pairs) + unanswered
        broken = orphans or unanswered
        have = f"{len(pairing.pairs)} of {count(closed, 'call')} {'has' if closed == 1 else 'have'} a result"
        text = f"pairs {'broken' if broken else 'whole'}: {have}; {count(orphans, 'orphan result')}"
        found.append(Check("bad" if broken else "ok", text))
    if pairing.tail is not None:
        found.append(
            Check("note", f"unfinished tail: call in {_origin(ledger, pairing.tail)}, no result yet")
        )
    return found


def _origin(ledger: Ledger, place: int) -> str:
    for entry in ledger.fates:
        if entry.new_position == place:
            return f"{entry.position}, {entry.fate}"
    return f"new message {place}"


def _all_have_a_fate(ledger: Ledger) -> Check:
    positions = {entry.position for entry in ledger.fates}
    missing = [position for position in range(len(ledger.before)) if position not in positions]
    known = len(ledger.before) - len(missing)
    if missing:
        text = f"{thousands(known)} of {count(len(ledger.before), 'message')} have a fate; without: {numbers(missing)}"
        return Check("bad", text)
    return Check(
        "ok", f"{thousands(known)} of {count(known, 'message')} {'has' if known == 1 else 'have'} a fate"
    )


def _moved(moved: int) -> list[Check]:
    if not moved:
        return []
    verb = "stands" if moved == 1 else "stand"
    return [Check("note", f"{count(moved, 'message')} {verb} in another order than before")]


def _summaries(ledger: Ledger, names: Mapping[int, str]) -> list[Check]:
    """One line for a summary; many summaries share a line, and only those that are not shorter have their own."""
    tokens = {entry.position: entry.tokens for entry in ledger.fates}
    made = [entry for entry in ledger.new_messages if entry.position in names and entry.sources]
    sizes = [
        (names[entry.position], entry.tokens, sum(tokens.get(s, 0) for s in entry.sources)) for entry in made
    ]
    shorter = [size for size in sizes if size[1] < size[2]]
    longer = [size for size in sizes if size[1] >= size[2]]
    found: list[Check] = []
    if len(shorter) > _MOST_SUMMARIES:
        inside, outside = sum(size[1] for size in shorter), sum(size[2] for size in shorter)
        of_all = f"{len(shorter)} of {count(len(sizes), 'summary', 'summaries')}"
        shares = f"({thousands(inside)} < {thousands(outside)} tokens)"
        found.append(Check("ok", f"{of_all} are shorter than their sources {shares}"))
    else:
        found += [_size("ok", "shorter", "<", *size) for size in shorter]
    found += [_size("bad", "not shorter", "\u2265", *size) for size in longer]
    return [*found, *_without_source(ledger, names)]


def _size(state: Literal["ok", "bad"], word: str, sign: str, name: str, tokens: int, sources: int) -> Check:
    return Check(
        state, f"{name} is {word} than its sources ({thousands(tokens)} {sign} {thousands(sources)})"
    )


def _without_source(ledger: Ledger, names: Mapping[int, str]) -> list[Check]:
    loose = [
        f"{names[entry.position]}.{number}"
        for entry in ledger.new_messages
        if entry.position in names
        for number, sentence in enumerate(entry.sentences, start=1)
        if not sentence.sources
    ]
    if not loose:
        return []
    listed = " ".join(loose[:_MOST_NUMBERS]) + (" \u2026" if len(loose) > _MOST_NUMBERS else "")
    return [Check("note", f"no source found for {count(len(loose), 'sentence')}: {listed}")]


def _facts(facts: Sequence[FactFinding]) -> list[Check]:
    lost = [finding.fact for finding in facts if finding.found == "lost"]
    if lost:
        return [Check("bad", f"{count(len(lost), 'fact')} lost: {', '.join(map(set_apart, lost))}")]
    held = sum(finding.found != "never there" for finding in facts)
    return [Check("ok", f"{'all ' if held > 1 else ''}{count(held, 'fact')} found")] if held else []


def numbers(positions: Sequence[int], most: int = _MOST_NUMBERS) -> str:
    """Positions in a row, runs of three and more as ``2-7``, many of them cut with their count."""
    runs: list[str] = []
    start = 0
    for index in range(1, len(positions) + 1):
        if index < len(positions) and positions[index] == positions[index - 1] + 1:
            continue
        run = positions[start:index]
        runs += [f"{run[0]}\u2013{run[-1]}"] if len(run) > 2 else [str(position) for position in run]
        start = index
    if len(runs) <= most:
        return " ".join(runs)
    return f"{' '.join(runs[: most - 1])} \u2026 ({len(positions)} in all)"


def sources_words(row: SentenceRow) -> str:
    """Which originals a sentence rests on, and whether word for word."""
    if not row.sources:
        return "no source"
    return f"from {numbers(row.sources)}{' verbatim' if row.verbatim else ''}"
