"""The colours of both themes and the styles by name, as data.

A colour is written as ``var(--kb-ink)`` everywhere. A page carries :func:`stylesheet` and switches themes; in a
notebook the same styles are written into each element with the colours of one theme.
"""

from __future__ import annotations

from typing import Literal

Theme = Literal["light", "dark"]

#: Pictures ask for fixed fonts, because their boxes are measured without a browser.
SVG_FONT = "-apple-system, BlinkMacSystemFont, 'Segoe UI', Helvetica, Arial, sans-serif"
SANS = SVG_FONT
MONO = "Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"

#: Colours by role. ``t-`` is a tint: the hue mixed into the paper, as a ground for text of that hue.
TOKENS: dict[Theme, dict[str, str]] = {
    "light": {
        "ink": "#1f2328",
        "ink2": "#57606a",
        "accent": "#0a5fce",
        "ok": "#17702f",
        "bad": "#b42318",
        "warn": "#855000",
        "mem": "#6a3bbd",
        "sum": "#0b6672",
        "paper": "#ffffff",
        "sunk": "#f7f7f7",
        "hover": "#eff0f0",
        "line2": "#e9e9ea",
        "line": "#c9d1d9",
        "t-accent": "#e6effa",
        "t-ok": "#e8f1ea",
        "t-bad": "#f8ebea",
        "t-warn": "#f2ece3",
        "t-mem": "#f0ebf8",
        "t-sum": "#e7f0f1",
    },
    "dark": {
        "ink": "#e4e8ec",
        "ink2": "#a4aeb9",
        "accent": "#74b3ff",
        "ok": "#62cc8b",
        "bad": "#ff958b",
        "warn": "#e6b04d",
        "mem": "#c3a6ff",
        "sum": "#5fcbd9",
        "paper": "#16191d",
        "sunk": "#1d2024",
        "hover": "#24272b",
        "line2": "#2b2e32",
        "line": "#3b434c",
        "t-accent": "#1f2834",
        "t-ok": "#1e2b28",
        "t-bad": "#2b2427",
        "t-warn": "#2d2a22",
        "t-mem": "#272734",
        "t-sum": "#1d2b30",
    },
}

HUES = ("accent", "ok", "bad", "warn", "mem", "sum")


def _style(declarations: str) -> dict[str, str]:
    """``name:value;...`` as a mapping; commas, colons in values and quotes stay as they are."""
    pairs = (part.split(":", 1) for part in declarations.split(";") if part)
    return {name.strip(): value.strip() for name, value in pairs}


def _sheet(**styles: str) -> dict[str, dict[str, str]]:
    return {"kb-" + name.replace("_", "-"): _style(declarations) for name, declarations in styles.items()}


#: Styles by class name. An element may have several; the one that stands later here wins.
STYLES: dict[str, dict[str, str]] = {
    **_sheet(
        # the frame
        card="box-sizing:border-box;container-type:inline-size;background:var(--kb-paper);color:var(--kb-ink);"
        f"font:400 13px/19px {SANS};border:1px solid var(--kb-line);border-radius:8px;overflow:hidden;"
        "text-align:left;font-variant-numeric:tabular-nums",
        head="display:flex;flex-wrap:wrap;align-items:center;gap:4px 8px;min-height:27px;padding:8px 12px;"
        "border-bottom:1px solid var(--kb-line)",
        title=f"font:600 14px/20px {SANS};margin:0;padding:0;color:var(--kb-ink);white-space:nowrap",
        name=f"font:400 12px/18px {MONO};color:var(--kb-ink2);background:none;padding:0;"
        "overflow-wrap:anywhere",
        status="display:inline-flex;align-items:center;gap:6px;font-size:12px;line-height:18px;padding-left:8px;"
        "border-left:1px solid var(--kb-line);overflow-wrap:anywhere",
        foot="display:flex;flex-wrap:wrap;align-items:center;gap:4px 14px;padding:7px 12px;font-size:11px;"
        "line-height:16px;color:var(--kb-ink2);background:var(--kb-sunk);border-top:1px solid var(--kb-line)",
        band="margin:0;padding:8px 12px;border-bottom:1px solid var(--kb-line2)",
        todo="display:flex;align-items:flex-start;gap:8px;padding:8px 12px;font-size:12px;line-height:18px;"
        "background:var(--kb-t-warn);border-top:1px solid var(--kb-line);overflow-wrap:anywhere",
        # regions: the hairline between two parts is the ground that shows through the gap
        split="display:flex;flex-wrap:wrap;gap:1px;background:var(--kb-line)",
        main="flex:999 1 440px;min-width:0;background:var(--kb-paper)",
        side="flex:1 1 340px;min-width:0;background:var(--kb-paper)",
        more="padding:7px 12px;font-size:12px;line-height:18px;border-top:1px solid var(--kb-line);"
        "overflow-x:auto",
        ruled="border-top:1px solid var(--kb-line)",
        keys="display:flex;flex-wrap:wrap;gap:4px 16px;align-items:center",
        key="display:inline-block;box-sizing:border-box;width:26px;height:13px;border-radius:3px",
        key_read="background:var(--kb-t-sum);border:1px solid var(--kb-sum)",
        key_wait="height:9px;border:1px solid var(--kb-warn);"
        "background:repeating-linear-gradient(135deg,var(--kb-paper) 0 4px,var(--kb-warn) 4px 5px)",
        places="display:flex;flex-direction:column",
        panel_head="margin:0 0 4px;gap:8px",
        panel_title="font-size:14px;line-height:20px;font-weight:600",
        half="flex:1 1 380px;min-width:0;background:var(--kb-paper)",
        panel="padding:14px",
        block="margin:0 0 16px",
        scroll="overflow-x:auto",
        picture="display:block;margin:0 auto",
        fluid="display:block;max-width:100%;height:auto",
        narrow="display:none",
        wide="",
        spin="",
        focus="",
        stale="",
        picked="",
        # type
        h4=f"font:600 12px/16px {SANS};margin:0 0 8px;padding:0;color:var(--kb-ink)",
        small="font-size:11px;line-height:16px;font-weight:400",
        quiet="color:var(--kb-ink2)",
        strong="font-weight:600",
        code=f"font:400 11.5px/17px {MONO};color:inherit;background:none;padding:0;overflow-wrap:anywhere",
        pre=f"font:400 11.5px/17px {MONO};margin:0;padding:8px 10px;color:var(--kb-ink);"
        "background:var(--kb-sunk);border:1px solid var(--kb-line2);border-radius:5px;"
        "white-space:pre-wrap;overflow-wrap:anywhere;word-break:normal",
        text="font-size:13px;line-height:19px;margin:0 0 8px;overflow-wrap:anywhere",
        p="margin:0 0 4px;font-size:12px;line-height:18px;overflow-wrap:anywhere",
        right="text-align:right",
        push="margin-left:auto",
        pair="display:inline-flex;align-items:center;gap:6px;vertical-align:top",
        word="white-space:nowrap",
        glyph="display:inline-block;flex:none;vertical-align:-2px",
        hidden="position:absolute;width:1px;height:1px;margin:-1px;overflow:hidden;clip-path:inset(50%);"
        "white-space:nowrap",
        # small parts
        chip="display:inline-flex;align-items:center;gap:4px;font-size:11px;line-height:16px;padding:0 6px;"
        "border-radius:4px;white-space:nowrap;color:var(--kb-ink2);background:var(--kb-hover)",
        row="display:flex;align-items:center;gap:8px;min-height:26px;padding:0 12px;font-size:12px;"
        "line-height:18px;border-bottom:1px solid var(--kb-line2)",
        list="list-style:none;margin:0;padding:0",
        box="border:1px solid var(--kb-line2);border-radius:6px;overflow:hidden",
        link="",
        stats="display:flex;flex-wrap:wrap;gap:1px;background:var(--kb-line2);"
        "border:1px solid var(--kb-line2);border-radius:6px;overflow:hidden",
        stat="flex:1 1 54px;padding:6px 8px;background:var(--kb-paper)",
        figure="font-size:15px;line-height:20px;font-weight:600;white-space:nowrap",
        track="display:inline-block;vertical-align:middle;width:64px;height:6px;border-radius:3px;"
        "background:var(--kb-hover);overflow:hidden",
        fill="display:block;height:6px;border-radius:3px;background:var(--kb-ink2)",
        quote="margin:0;padding:2px 0 2px 10px;border-left:2px solid var(--kb-line);overflow-wrap:anywhere",
        hatch="background:repeating-linear-gradient(135deg,var(--kb-paper) 0 7px,var(--kb-line2) 7px 8px)",
        removed="color:var(--kb-bad);background:var(--kb-t-bad);text-decoration:line-through;border-radius:3px;"
        "padding:0 2px",
        added="color:var(--kb-ok);background:var(--kb-t-ok);text-decoration:underline;border-radius:3px;"
        "padding:0 2px",
        switch="display:inline-block;box-sizing:border-box;width:26px;height:14px;padding:1px;border-radius:7px;"
        "border:1px solid var(--kb-ink2);background:var(--kb-paper);vertical-align:middle",
        switch_on="border-color:var(--kb-accent);background:var(--kb-accent)",
        knob="display:block;width:10px;height:10px;border-radius:5px;background:var(--kb-ink2)",
        knob_on="margin-left:12px;background:var(--kb-paper)",
        # tables
        table="border-collapse:collapse;width:100%;margin:0;font-size:12px;line-height:18px;color:var(--kb-ink);"
        "border:0;table-layout:auto",
        tr="background:transparent",
        th=f"font:500 11px/16px {SANS};color:var(--kb-ink2);text-align:left;vertical-align:bottom;"
        "padding:5px 8px;border:0;border-bottom:1px solid var(--kb-line);background:transparent;"
        "white-space:nowrap",
        td="padding:4px 8px;text-align:left;vertical-align:middle;border:0;"
        "border-bottom:1px solid var(--kb-line2);background:transparent;overflow-wrap:anywhere",
        num="text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums",
        # parts of the live form alone
        live="display:none",
        tools="display:inline-flex;flex-wrap:wrap;gap:4px;align-items:center",
        btn=f"font:500 12px/16px {SANS};color:var(--kb-ink);background:transparent;border:1px solid var(--kb-line);"
        "border-radius:5px;padding:4px 8px;margin:0;gap:6px;align-items:center;white-space:nowrap;min-height:26px;"
        "cursor:pointer;box-sizing:border-box",
        btn_on="background:var(--kb-t-accent);border-color:var(--kb-accent);color:var(--kb-accent)",
        btn_first="background:var(--kb-accent);border-color:var(--kb-accent);color:var(--kb-paper)",
        btn_quiet="border-color:transparent;color:var(--kb-ink2);padding:4px 6px",
        input=f"font:400 12px/18px {SANS};color:var(--kb-ink);background:var(--kb-paper);"
        "border:1px solid var(--kb-ink2);border-radius:5px;padding:3px 8px;margin:0;min-height:26px;"
        "box-sizing:border-box;min-width:0",
        keys_list="gap:4px 12px;align-items:center;flex-wrap:wrap;margin-left:auto",
        key_word="display:inline-flex;gap:4px;align-items:center;white-space:nowrap",
        kbd=f"font:500 10.5px/14px {MONO};border:1px solid var(--kb-line);border-radius:3px;padding:0 4px;"
        "background:var(--kb-paper);color:var(--kb-ink);box-shadow:none",
        trouble="display:flex;align-items:flex-start;gap:8px;padding:8px 12px;font-size:12px;line-height:18px;"
        "background:var(--kb-t-bad);border-bottom:1px solid var(--kb-line);overflow-wrap:anywhere",
    ),
    **{f"kb-{hue}": {"color": f"var(--kb-{hue})"} for hue in HUES},
    **{f"kb-t-{hue}": {"background": f"var(--kb-t-{hue})"} for hue in HUES},
    **{f"kb-fill-{hue}": {"background": f"var(--kb-{hue})"} for hue in HUES},
    **_sheet(t_sunk="background:var(--kb-sunk)", t_hover="background:var(--kb-hover)"),
}

#: What only the live form has, which follows the theme of the notebook around it.
_LIVE = (
    ".kb-root *{box-sizing:border-box}"
    ".kb-root svg.kb-picture [data-do]{cursor:pointer;outline:none}"
    ".kb-root [data-do]{cursor:pointer}"
    ".kb-root button:hover{background:var(--kb-hover)}"
    ".kb-root button.kb-btn-first:hover{background:var(--kb-accent);filter:brightness(.92)}"
    ".kb-root button:disabled{opacity:.55;cursor:default}"
    ".kb-root .kb-link{font:inherit;color:inherit;background:none;border:0;padding:0;margin:0;text-align:left;"
    "cursor:pointer}"
    ".kb-root .kb-live{display:inline-flex}"
    ".kb-root div.kb-live,.kb-root p.kb-live{display:block}"
    ".kb-root div.kb-tools.kb-live,.kb-root div.kb-keys-list.kb-live{display:flex}"
    ".kb-root tr[data-do]:hover{background:var(--kb-hover)!important}"
    ".kb-root .kb-picked{background:var(--kb-t-accent)!important;box-shadow:inset 2px 0 0 var(--kb-accent)}"
    ".kb-root :focus-visible{outline:2px solid var(--kb-accent);outline-offset:1px}"
    ".kb-root svg [data-do]:focus-visible .kb-focus{stroke:var(--kb-accent);stroke-width:2;stroke-opacity:1}"
    ".kb-root .kb-stale{display:none}"
    '.kb-root[data-stale="true"] .kb-stale{display:flex}'
    '.kb-root[data-stale="true"] .kb-tools{visibility:hidden}'
    "@media (prefers-reduced-motion:no-preference){"
    ".kb-root .kb-spin{transform-origin:7px 7px;transform-box:view-box;animation:kb-spin 1.1s linear infinite}}"
    "@keyframes kb-spin{to{transform:rotate(360deg)}}"
    "@media (forced-colors:active){.kb-root .kb-btn{border-color:ButtonText}}"
)

_RESPONSIVE = (
    "@container (max-width:760px){.kb-wide{display:none}.kb-narrow{display:block}"
    ".kb-side,.kb-half,.kb-main{flex-basis:100%}.kb-status{border-left:0;padding-left:0}}"
    "@media (forced-colors:active){.kb-card,.kb-chip,.kb-box{border:1px solid CanvasText}}"
    "@media print{.kb-card{break-inside:avoid-page}}"
)


def stylesheet() -> str:
    """The style sheet of a page: both themes and every style.

    A page is dark with ``data-theme="dark"`` on its root or in a dark JupyterLab, else as the system is.
    """
    light, dark = _variables("light"), _variables("dark")
    rules = [
        f":root{{{light}}}",
        f'@media (prefers-color-scheme:dark){{:root:not([data-theme="light"]){{{dark}}}}}',
        f':root[data-theme="dark"]{{{dark}}}',
        f'[data-jp-theme-light="true"]{{{light}}}',
        f'[data-jp-theme-light="false"]{{{dark}}}',
    ]
    rules += [
        f".{name}{{{';'.join(f'{key}:{value}' for key, value in declarations.items())}}}"
        for name, declarations in STYLES.items()
        if declarations
    ]
    return "\n".join([*rules, _RESPONSIVE])


def widget_sheet() -> str:
    """The style sheet of a live view: neutrals and fonts of the notebook around it, tints mixed from its paper.

    The view is dark with ``data-theme="dark"`` on its root, which the front end sets from what really lies behind it.
    """
    rules = [
        f".kb-root{{{_themed('light')}{_TINTS}}}",
        f'.kb-root[data-theme="dark"]{{{_themed("dark")}}}',
        # Two classes each: a notebook has rules of its own for tables, code and buttons of its outputs.
        *(
            f".kb-root .{name}{{{_fonts(';'.join(f'{key}:{value}' for key, value in declarations.items()))}}}"
            for name, declarations in STYLES.items()
            if declarations
        ),
    ]
    return "\n".join([*rules, _RESPONSIVE.replace(".kb-", ".kb-root .kb-"), _LIVE])


_FROM_THEME = {
    "ink": "--jp-ui-font-color1",
    "paper": "--jp-layout-color1",
    "line": "--jp-border-color1",
}
_SHARES = {"sunk": ("ink", "3.5%"), "hover": ("ink", "7%"), "line2": ("ink", "10%")} | {
    f"t-{hue}": (hue, {"bad": "9%", "warn": "11%"}.get(hue, "10%")) for hue in HUES
}
_TINTS = "".join(
    f"--kb-{name}:color-mix(in srgb,var(--kb-{hue}) {share},var(--kb-paper));"
    for name, (hue, share) in _SHARES.items()
)


def _themed(theme: Theme) -> str:
    fixed = {key: value for key, value in TOKENS[theme].items() if key not in _SHARES}
    return (
        f"color-scheme:{theme};"
        + "".join(
            f"--kb-{key}:{f'var({_FROM_THEME[key]},{value})' if key in _FROM_THEME else value};"
            for key, value in fixed.items()
        )
        + f"--kb-sans:var(--jp-ui-font-family,{SANS});--kb-mono:var(--jp-code-font-family,{MONO});"
    )


def _fonts(css: str) -> str:
    return css.replace(SANS, "var(--kb-sans)").replace(MONO, "var(--kb-mono)")


def _variables(theme: Theme) -> str:
    return f"color-scheme:{theme};" + ";".join(f"--kb-{key}:{value}" for key, value in TOKENS[theme].items())
