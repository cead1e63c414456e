// The live form of a view. It makes elements from a tree, follows the changes of it, and sends back what is clicked.
// What a click means is not known here: the kernel answers with the next changes.

const SVG = "http://www.w3.org/2000/svg";
const REACHABLE = "[data-do]:not(tr, td), summary, a[href]";
const TYPED_AFTER = 180; // ms without a key before what was typed is sent

// ------------------------------------------------------------------------------------------------- elements

function put(element, name, value) {
  if (name.startsWith("on")) return; // no handler ever comes from the tree
  if (value === null) {
    element.getAttribute(name); // else Chromium leaves an empty style behind, which it had not written down yet
    element.removeAttribute(name);
  } else if (name === "style") {
    element.style.cssText = value; // allowed where a policy forbids style attributes
  } else if (name === "value" && "value" in element) {
    // What is being typed or dragged stays as it is; a track that only has the focus follows.
    const held = element.type === "range" ? element.matches(":active") : element === document.activeElement;
    if (!held) element.value = value;
  } else {
    element.setAttribute(name, value);
  }
}

function build(node, space) {
  if (typeof node === "string") return document.createTextNode(node);
  const [tag, attributes, children] = node;
  if (tag === "script") return document.createTextNode("");
  const inside = tag === "svg" ? SVG : space;
  const element = inside ? document.createElementNS(inside, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) put(element, name, value);
  for (const child of children) element.append(build(child, inside));
  return element;
}

function spaceOf(element) {
  return element.namespaceURI === SVG ? SVG : null;
}

// Each change is made in the tree, which is what a view that is opened later begins with, and in every open view.
function applyToTree(tree, [path, kind, ...what]) {
  if (!path.length && kind !== "a" && kind !== "s") return what[0];
  const steps = kind === "a" || kind === "s" ? path : path.slice(0, -1);
  const node = steps.reduce((at, place) => at[2][place], tree);
  if (kind === "a") {
    for (const [name, value] of Object.entries(what[0]))
      if (value === null) delete node[1][name];
      else node[1][name] = value;
  } else if (kind === "s") {
    node[2].splice(what[0], what[1], ...what[2]);
  } else {
    node[2][path[path.length - 1]] = what[0];
  }
  return tree;
}

function applyToElements(top, [path, kind, ...what]) {
  const node = path.reduce((at, place) => at.childNodes[place], top.firstChild);
  if (kind === "a") {
    for (const [name, value] of Object.entries(what[0])) put(node, name, value);
  } else if (kind === "t") {
    node.data = what[0];
  } else if (kind === "r") {
    node.replaceWith(build(what[0], spaceOf(node.parentNode)));
  } else {
    const [start, gone, added] = what;
    for (let count = 0; count < gone; count += 1) node.childNodes[start].remove();
    const next = node.childNodes[start] ?? null;
    for (const child of added) node.insertBefore(build(child, spaceOf(node)), next);
  }
}

// ------------------------------------------------------------------------------------------------- theme

function isDark(element) {
  for (let at = element; at; at = at.parentElement) {
    const parts = getComputedStyle(at).backgroundColor.match(/[\d.]+/g);
    if (parts && (parts.length < 4 || Number(parts[3]) > 0.5)) {
      const [red, green, blue] = parts.map(Number);
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 128;
    }
  }
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

function followTheme(top) {
  const settle = () => {
    top.dataset.theme = isDark(top.parentElement ?? document.body) ? "dark" : "light";
  };
  const observer = new MutationObserver(() => requestAnimationFrame(settle));
  for (const element of [document.documentElement, document.body])
    observer.observe(element, { attributes: true, attributeFilter: ["class", "data-jp-theme-light", "data-jp-theme-name", "style"] });
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", settle);
  // The backdrop is known when the view is in the page, and a theme's style sheet may come later still.
  requestAnimationFrame(settle);
  const later = setTimeout(settle, 400);
  return () => {
    clearTimeout(later);
    observer.disconnect();
    system.removeEventListener("change", settle);
  };
}

// ------------------------------------------------------------------------------------------------- keyboard

const shown = (element) => element.getClientRects().length > 0 && !element.disabled;
const reachable = (top) => [...top.querySelectorAll(REACHABLE)].filter(shown);
const typing = (element) => element.matches("input, select, textarea");

// What was just selected is brought into view where the view itself scrolls; the page stays where it is.
function showPicked(top) {
  const picked = top.querySelector("[data-item][aria-pressed=true]");
  const box = picked?.closest(".kb-scroll");
  if (!box || !shown(picked)) return;
  const inner = picked.getBoundingClientRect();
  const outer = box.getBoundingClientRect();
  if (inner.top < outer.top || inner.bottom > outer.bottom)
    box.scrollTop += inner.top - outer.top - (outer.height - inner.height) / 2;
  if (inner.left < outer.left || inner.right > outer.right)
    box.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
}

function picks([, kind, ...what]) {
  if (kind === "a") return what[0]["aria-pressed"] === "true";
  return kind !== "t" && JSON.stringify(what.at(-1)).includes('"aria-pressed":"true"');
}

// One of all is reached by Tab; the arrows move to the others.
function settleTabStop(top, wanted) {
  const every = [...top.querySelectorAll(REACHABLE)];
  const seen = every.filter(shown);
  const all = seen.length ? seen : every; // before it stands in the page, nothing is seen yet
  const stop =
    wanted ??
    all.find((one) => one.tabIndex === 0 && one.matches("[data-do]")) ??
    all.find((one) => one.matches("[data-item][aria-pressed=true]")) ??
    all.find((one) => one.matches("[data-item]")) ??
    all[0];
  for (const one of every) {
    one.tabIndex = one === stop ? 0 : -1;
    // The keys of the notebook rest while the focus is here. It asks the element that has the focus, and those around it
    // only when its own rules do not match that one.
    one.setAttribute("data-lm-suppress-shortcuts", "true");
  }
  return stop;
}

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

function onKey(top, event) {
  const target = event.target;
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  const text = typing(target) && target.type !== "range";
  if (text && event.key !== "Escape" && event.key !== "Enter") return event.stopPropagation();
  const done = () => {
    event.preventDefault();
    event.stopPropagation();
  };
  const all = reachable(top);
  const here = all.indexOf(target);
  if (event.key in STEPS && target.type !== "range") {
    settleTabStop(top, all[(here + STEPS[event.key] + all.length) % all.length])?.focus();
    return done();
  }
  if (event.key === "Home" || event.key === "End") {
    settleTabStop(top, event.key === "Home" ? all[0] : all[all.length - 1])?.focus();
    return done();
  }
  const pressed = target.matches("button, summary, a");
  if (event.key === " " && pressed) return; // the browser clicks it
  const key = [...top.querySelectorAll("[data-key]")].find((one) => one.dataset.key === event.key && shown(one));
  const clicks = event.key === "Enter" || (event.key === " " && !key);
  if (clicks && here >= 0 && !pressed && !typing(target)) {
    target.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    return done();
  }
  if (event.key === "Escape") {
    const back = top.querySelector('[data-key="Escape"]');
    if (text) {
      settleTabStop(top)?.focus();
    } else if (back && shown(back)) {
      back.click();
    } else {
      target.blur();
    }
    return done();
  }
  if (key) {
    if (typing(key)) key.focus();
    else key.click();
    return done();
  }
}

// ------------------------------------------------------------------------------------------------- saving

const WIDGET_VIEW = "application/vnd.jupyter.widget-view+json";
const PATCHED = Symbol.for("koogbook saves pictures");

// What each view shows now, by the id of its model; the widgets of a page share it.
const pictures = (globalThis[Symbol.for("koogbook pictures")] ??= new Map());

function withoutWidget(output) {
  if (!output.metadata?.koogbook || !output.data?.["text/html"]) return output;
  const { [WIDGET_VIEW]: widget, ...data } = output.data;
  return { ...output, data: { ...data, ...pictures.get(widget?.model_id) } };
}

// A widget without its kernel is an error message when the notebook is opened again. So what JupyterLab writes to the
// file are the pictures that stand beside the widgets; in the page the views stay alive.
function savePictures(manager) {
  const notebook = manager?.context?.model;
  if (typeof notebook?.toJSON !== "function" || notebook[PATCHED]) return;
  const whole = notebook.toJSON.bind(notebook);
  notebook[PATCHED] = true;
  notebook.toJSON = () => {
    const saved = whole();
    const cells = saved.cells?.map((cell) =>
      cell.outputs ? { ...cell, outputs: cell.outputs.map(withoutWidget) } : cell,
    );
    return cells ? { ...saved, cells } : saved;
  };
}

// ------------------------------------------------------------------------------------------------- the widget

export default () => {
  // What all open views of one model share.
  const shared = { tree: null, version: -1, tops: new Set(), stale: false };

  function take(model) {
    shared.tree = structuredClone(model.get("tree"));
    shared.version = model.get("version");
  }

  function draw(top) {
    top.replaceChildren(build(shared.tree, null));
    settleTabStop(top);
  }

  function keep(model, tree, version) {
    shared.tree = tree;
    shared.version = version;
    model.set("tree", tree); // for a view that is opened later, and for a notebook that is saved with its state
    model.set("version", version);
  }

  function follow(model, { from, version, changes }) {
    if (from !== shared.version) {
      model.send({ ask: "all" }); // something was missed while this was being loaded
      return;
    }
    keep(model, changes.reduce((tree, change) => applyToTree(tree, structuredClone(change)), shared.tree), version);
    for (const top of shared.tops) {
      const focused = top.contains(document.activeElement) ? document.activeElement : null;
      const word = focused?.dataset?.do;
      const value = focused?.dataset?.value;
      for (const change of changes) applyToElements(top, change);
      settleTabStop(top);
      if (changes.some(picks)) showPicked(top);
      // What had the focus may be gone, hidden, or a button that can do no more: the focus stays in the view.
      if (focused && !(top.contains(focused) && shown(focused))) {
        const again = reachable(top).find((one) => one.dataset.do === word && one.dataset.value === value);
        settleTabStop(top, again)?.focus({ preventScroll: true });
      }
    }
  }

  async function settleLife(model) {
    let live = true;
    try {
      const whole = await model.widget_manager.get_model(model.get("model_name"));
      live = whole.comm_live !== false;
    } catch {
      live = false;
    }
    shared.stale = !live;
    for (const top of shared.tops) top.dataset.stale = String(shared.stale);
  }

  function initialize({ model }) {
    take(model);
    savePictures(model.widget_manager);
    const onMessage = (message) => {
      if (message?.changes) follow(model, message);
      if (message?.picture) pictures.set(model.get("model_name"), message.picture);
      if (message?.tree) {
        keep(model, message.tree, message.version);
        for (const top of shared.tops) draw(top);
      }
    };
    const onLife = () => settleLife(model);
    model.on("msg:custom", onMessage);
    model.on("comm_live_update", onLife);
    return () => {
      model.off("msg:custom", onMessage);
      model.off("comm_live_update", onLife);
    };
  }

  function render({ model, el }) {
    if (shared.tree === null) take(model);
    const top = document.createElement("div");
    top.className = "kb-root";
    top.setAttribute("data-lm-suppress-shortcuts", "true");
    const send = (element, value) => {
      if (shared.stale) return;
      model.send({ do: element.dataset.do, value: String(value ?? element.dataset.value ?? "") });
    };
    let typed = 0;
    const later = (element) => {
      if (typed && element.type === "range") return; // a track is followed while it moves
      clearTimeout(typed);
      typed = setTimeout(() => {
        typed = 0;
        send(element, element.value);
      }, TYPED_AFTER);
    };
    const onClick = (event) => {
      const element = event.target.closest("[data-do]");
      if (!element || !top.contains(element) || element.disabled || typing(element)) return;
      // The notebook takes the focus when one of its outputs is clicked, and then the keys are its own.
      const stop = element.matches("tr, td") ? element.querySelector("[data-item]") : element;
      if (stop && shown(stop)) settleTabStop(top, stop).focus({ preventScroll: true });
      send(element);
    };
    const onInput = (event) => {
      if (event.target.dataset.do) later(event.target);
    };
    const onKeyDown = (event) => onKey(top, event);
    top.addEventListener("click", onClick);
    top.addEventListener("input", onInput);
    top.addEventListener("keydown", onKeyDown);
    top.dataset.stale = String(shared.stale);
    el.append(top);
    draw(top);
    shared.tops.add(top);
    const leaveTheme = followTheme(top);
    settleLife(model);
    return () => {
      clearTimeout(typed);
      leaveTheme();
      shared.tops.delete(top);
      top.removeEventListener("click", onClick);
      top.removeEventListener("input", onInput);
      top.removeEventListener("keydown", onKeyDown);
      top.remove();
    };
  }

  return { initialize, render };
};
