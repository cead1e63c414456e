"""What goes through a run that is over: the replay under the time axis, and the steps of an enlarged part."""

from __future__ import annotations

from koogbook.notebook.views.lock_view.sheet import NARROW, WIDE, Sheet
from koogbook.notebook.views.lock_view.state import WINDOW, LockState
from koogbook.notebook.views.lock_view.text import zoomed
from koogbook.notebook.views.look.controls import button, slider
from koogbook.notebook.views.look.isolates import sentence, unmarked
from koogbook.notebook.views.look.markup import Element, h
from koogbook.notebook.views.look.measure import duration

#: Half the thumb of a track: its middle, not its edge, stands at both ends of the time axis.
_HALF_THUMB = 8


def _share(sheet: Sheet, length: float) -> str:
    return f"{100 * length / sheet.width:.3f}%"


def _by_width(wide: str, narrow: str) -> str:
    """The length that is right for the picture that is shown; ``narrow`` is the longer one."""
    # Beyond 760 px the middle is below all lengths, up to there it is above them.
    return f"clamp({wide},(761px - 100%)*999,{narrow})"


#: Left of the axis where the picture is wide, a line of their own where it is narrow.
_BUTTONS = (
    f"flex:0 0 {_by_width(_share(WIDE, WIDE.left - NARROW.left * WIDE.width / NARROW.width), '100%')};"
    "min-width:max-content;display:flex;gap:2px;padding-left:8px"
)
_SLIDER = f"display:flex;flex:1 1 200px;margin-left:calc({_share(NARROW, NARROW.left)} - {_HALF_THUMB}px)"
#: Right of the axis there is no room for it where the picture is narrow: it stands at the end of the line above.
_END = (
    "flex:0 0 {};display:flex;justify-content:flex-end;padding-right:8px;box-sizing:border-box;"
    "margin-top:clamp(-52px,(100% - 761px)*999,0px)"
).format(_by_width(*(f"{_share(sheet, sheet.right)} - {_HALF_THUMB}px" for sheet in (WIDE, NARROW))))
_FRAME = (
    f"display:flex;flex-wrap:wrap;align-items:center;width:100%;max-width:{round(WIDE.width * WIDE.scales[1])}px;"
    "margin:0 auto"
)


def track(state: LockState) -> Element:
    """The replay: under the time axis, as long as it, with the moment in words."""
    replay = state.replay
    at = state.seconds if replay is None else replay.at
    playing = replay is not None and replay.playing
    whole = f"at the end, {duration(state.seconds)}: {state.status}"
    words = state.status if replay is not None else whole
    return h(
        "div",
        h(
            "div",
            h(
                "div",
                button("\u2039", "earlier", key=",", name="Go to the session event before", off=at <= 0),
                button(
                    "Pause" if playing else "Play",
                    "play",
                    key=" ",
                    name="Pause the replay" if playing else "Play the run again",
                    on=playing,
                ),
                button("\u203a", "later", key=".", name="Go to the next session event", off=replay is None),
                style=_BUTTONS,
            ),
            h(
                "div",
                slider("at", at, most=state.seconds, name="Moment of the replay", said=unmarked(words)),
                style=_SLIDER,
            ),
            h(
                "div",
                button("End", "end", name="Leave the replay: the run as it ended", off=replay is None),
                style=_END,
            ),
            style=_FRAME,
        ),
        h("p", *sentence(words), cls="kb-p kb-small kb-quiet", style="margin:4px 14px 0"),
        cls="kb-live",
        style="padding:6px 0;border-top:1px solid var(--kb-line2)",
    )


def enlarged(state: LockState) -> Element:
    """Which part of a long run the picture enlarges, with the steps to the others."""
    zoom = state.zoom
    words = (
        zoomed(state) if zoom is not None else f"A long run: the strip leads to any {WINDOW} sessions of it."
    )
    last = zoom is not None and zoom.last >= sum(len(lane.sessions) for lane in state.whole)
    return h(
        "div",
        h("span", words),
        h(
            "div",
            button(
                f"\u2039 {WINDOW}",
                "zoom_before",
                name=f"Enlarge the {WINDOW} sessions before",
                off=zoom is None or zoom.first <= 1,
            ),
            button(
                f"{WINDOW} \u203a",
                "zoom_after",
                name=f"Enlarge the {WINDOW} sessions after"
                if zoom is not None
                else f"Enlarge the first {WINDOW} sessions",
                off=last,
            ),
            button("Whole run", "whole", name="Show the whole run again", off=zoom is None),
            cls="kb-tools kb-push kb-live",
        ),
        # Without the buttons the sentence is of use for a part alone.
        cls="kb-band kb-small kb-quiet" if zoom is not None else "kb-band kb-small kb-quiet kb-live",
        style="display:flex;flex-wrap:wrap;align-items:center;gap:4px 12px",
    )
