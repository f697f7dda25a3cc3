"use strict";
(() => {
  const COLOURS = 12; // --c0 to --c11 of the style sheet
  const PAGE = 60; // rows of the list that are made at once
  const LEAST_DOT = 2.4; // pixels of the radius of a memory
  const FAST_EDGES = 3000; // lines drawn while something moves: the strongest ones
  const FAST_DOTS = 2500; // dots drawn as circles while something moves; more are squares
  const SETTLE_MS = 140; // after this long without a movement everything is drawn
  const LABELS = 60;
  const LABEL_SCALE = 26; // pixels of an ideal distance from which on memories are labelled
  const ROUNDS = 200; // of forces at most; fewer for few memories
  const FRAME_MS = 12; // of forces between two pictures
  const BACKBONE = 4; // strongest links of a memory that pull: with all of them every picture is one ball
  const REACH = 2; // ideal distances within which memories push each other away
  const GRAVITY = 1.5; // pull to the middle, divided by the square root of the memories
  const HEAT = 0.12; // longest step of the first round, in radii of the start
  const GOLDEN = Math.PI * (3 - Math.sqrt(5)); // angle between two leaves of a sunflower
  const HOPS = 2, PULLED = 250; // links from a dragged memory to the farthest that follows, and how many do

  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const canvas = $("graph"), ctx = canvas.getContext("2d");

  // ---------------------------------------------------------------- data

  const rank = new Map(data.communities.map((each, at) => [each[0], at]));
  const nodes = data.nodes.map((it, at) => {
    const [id, text, category, importance, community, tags, entities, project, created, start, end, pinned, degree] = it;
    const names = entities.map((each) => data.entities[each]);
    return {
      at, id, text, category, importance, community, tags, names, project, created, start, end, pinned, degree, x: 0, y: 0,
      dx: 0, dy: 0, time: Date.parse(created), r: Math.min(0.5, 0.16 + 0.035 * Math.sqrt(degree)), links: [], on: true, hit: true,
      colour: community && rank.has(community) ? rank.get(community) % COLOURS : -1,
      low: [text, id, project || "", ...tags, ...names].join("\n").toLowerCase(),
    };
  });
  const edges = data.edges.map(([a, b, mask, weight]) => ({ a: nodes[a], b: nodes[b], mask, weight, on: true, length: 0 }));
  for (const each of edges) {
    each.a.links.push(each);
    each.b.links.push(each);
  }
  for (const [at, source, type, target] of data.relations) (nodes[at].relations ||= []).push([source, type, target]);
  const heads = new Map(); // of each community its most linked memory, by which it is called
  for (const it of nodes) if (it.community && !(heads.get(it.community)?.degree >= it.degree)) heads.set(it.community, it);
  const CAUSAL = 1 << data.types.indexOf("causal");

  const filter = { query: "", categories: new Set(data.categories), types: (1 << data.types.length) - 1,
    since: -Infinity, until: Infinity, community: 0, entity: "", order: "new" };
  let hover = null, selected = null, shown = [], made = 0;

  // Control characters, and those that turn the direction of the text around them, have no place in a line.
  const plain = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\s]+/g, " ").trim();
  const words = (text, most) => {
    const line = plain(text.slice(0, 4 * most));
    return line.length > most ? line.slice(0, most - 1) + "…" : line;
  };
  const day = (text) => text.slice(0, 10);
  const other = (edge, node) => (edge.a === node ? edge.b : edge.a);
  const kinds = (mask) => data.types.filter((_, at) => mask >> at & 1).join(", ");

  function refilter() {
    const query = filter.query.toLowerCase().split(/\s+/).filter(Boolean);
    for (const it of nodes) {
      it.on = filter.categories.has(it.category) && it.time >= filter.since && it.time < filter.until
        && (!filter.community || it.community === filter.community) && (!filter.entity || it.names.includes(filter.entity));
      it.hit = it.on && query.every((each) => it.low.includes(each));
    }
    let lines = 0;
    for (const each of edges) if ((each.on = each.a.on && each.b.on && (each.mask & filter.types) !== 0)) lines++;
    shown = nodes.filter((it) => it.hit);
    const orders = { new: (a, b) => b.time - a.time, old: (a, b) => a.time - b.time, links: (a, b) => b.degree - a.degree,
      weight: (a, b) => b.importance - a.importance };
    shown.sort((a, b) => orders[filter.order](a, b) || b.time - a.time || a.at - b.at);
    $("count").textContent = `${shown.length.toLocaleString("en")} of ${nodes.length.toLocaleString("en")} memories, `
      + `${lines.toLocaleString("en")} links`;
    $("chosen").hidden = !filter.entity;
    if (filter.entity) {
      $("chosen").replaceChildren(`that name ${plain(filter.entity)}`, button("Clear", () => { filter.entity = ""; refilter(); }));
    }
    for (const each of $("groups").children) each.setAttribute("aria-pressed", String(each.number === filter.community));
    $("list").replaceChildren();
    $("list").scrollTop = 0;
    made = 0;
    more();
    repaint();
  }

  // ---------------------------------------------------------------- the picture

  const view = { scale: 1, x: 0, y: 0, width: 1, height: 1 };
  let palette = {}, queued = false, busyUntil = 0, settle = 0, touched = false;

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    palette = { text: read("--text"), back: read("--back"), edge: read("--edge"), cause: read("--cause"), mark: read("--mark"),
      none: read("--none"), groups: Array.from({ length: COLOURS }, (_, at) => read(`--c${at}`)) };
    repaint();
  }

  function resize() {
    const box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    if (!box.width || !box.height) return;
    const first = view.width === 1;
    view.x += (box.width - view.width) / 2;
    view.y += (box.height - view.height) / 2;
    [view.width, view.height] = [box.width, box.height];
    canvas.width = Math.round(box.width * ratio);
    canvas.height = Math.round(box.height * ratio);
    if (first) fit();
    repaint();
  }

  function fit() {
    const seen = nodes.filter((it) => it.on);
    if (!seen.length) return;
    // A few memories far away do not make all others small: then all but the outermost hundredth.
    const bounds = (values) => {
      values.sort((a, b) => a - b);
      const last = values.length - 1, cut = Math.ceil(values.length / 100);
      const far = last > 2 * cut && values[last] - values[0] > 1.5 * (values[last - cut] - values[cut]);
      return far ? [values[cut] - 1, values[last - cut] + 1] : [values[0] - 1, values[last] + 1];
    };
    const [left, right] = bounds(seen.map((it) => it.x)), [top, bottom] = bounds(seen.map((it) => it.y));
    view.scale = Math.min(60, 0.94 * Math.min(view.width / (right - left), view.height / (bottom - top)));
    view.x = view.width / 2 - view.scale * (left + right) / 2;
    view.y = view.height / 2 - view.scale * (top + bottom) / 2;
    repaint();
  }

  function zoom(factor, x = view.width / 2, y = view.height / 2) {
    const scale = Math.max(0.5, Math.min(160, view.scale * factor));
    view.x = x - (x - view.x) * scale / view.scale;
    view.y = y - (y - view.y) * scale / view.scale;
    view.scale = scale;
    moved();
  }

  function moved() {
    touched = true;
    busyUntil = performance.now() + SETTLE_MS;
    clearTimeout(settle);
    settle = setTimeout(repaint, SETTLE_MS + 20);
    repaint();
  }

  function repaint() {
    if (!queued) {
      queued = true;
      requestAnimationFrame(() => {
        queued = false;
        paint(performance.now() < busyUntil);
      });
    }
  }

  function lines(found, colour, alpha, width) {
    if (!found.length) return;
    const { scale, x, y } = view;
    ctx.beginPath();
    for (const { a, b } of found) {
      ctx.moveTo(a.x * scale + x, a.y * scale + y);
      ctx.lineTo(b.x * scale + x, b.y * scale + y);
    }
    ctx.strokeStyle = colour;
    ctx.globalAlpha = alpha;
    ctx.lineWidth = width;
    ctx.stroke();
    ctx.globalAlpha = 1;
  }

  function arrows(found, colour, alpha) {
    const { scale, x, y } = view;
    ctx.fillStyle = colour;
    ctx.globalAlpha = alpha;
    ctx.beginPath();
    for (const { a, b } of found) {
      const dx = b.x - a.x, dy = b.y - a.y, length = Math.hypot(dx, dy) || 1, ux = dx / length, uy = dy / length;
      const tx = (b.x - ux * b.r) * scale + x, ty = (b.y - uy * b.r) * scale + y;
      ctx.moveTo(tx, ty);
      ctx.lineTo(tx - 8 * ux + 3.5 * uy, ty - 8 * uy - 3.5 * ux);
      ctx.lineTo(tx - 8 * ux - 3.5 * uy, ty - 8 * uy + 3.5 * ux);
    }
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  function dots(found, alpha, squares) {
    const { scale, x, y } = view, buckets = new Map();
    for (const it of found) {
      const bucket = buckets.get(it.colour);
      if (bucket) bucket.push(it); else buckets.set(it.colour, [it]);
    }
    ctx.globalAlpha = alpha;
    for (const [colour, members] of buckets) {
      ctx.fillStyle = colour < 0 ? palette.none : palette.groups[colour];
      ctx.beginPath();
      for (const it of members) {
        const r = Math.max(LEAST_DOT, it.r * scale), cx = it.x * scale + x, cy = it.y * scale + y;
        if (squares) ctx.rect(cx - r * 0.85, cy - r * 0.85, r * 1.7, r * 1.7);
        else {
          ctx.moveTo(cx + r, cy);
          ctx.arc(cx, cy, r, 0, 6.2832);
        }
      }
      ctx.fill();
    }
    ctx.globalAlpha = 1;
  }

  function ring(it, colour) {
    ctx.beginPath();
    ctx.arc(it.x * view.scale + view.x, it.y * view.scale + view.y, Math.max(LEAST_DOT, it.r * view.scale) + 3, 0, 6.2832);
    ctx.strokeStyle = colour;
    ctx.lineWidth = 2;
    ctx.stroke();
  }

  function label(text, x, y, taken, bold) {
    const width = ctx.measureText(text).width;
    const left = Math.max(4, Math.min(view.width - width - 4, x - width / 2));
    const box = [left - 2, y - 8, left + width + 2, y + 8];
    if (taken.some((it) => box[0] < it[2] && it[0] < box[2] && box[1] < it[3] && it[1] < box[3])) return;
    taken.push(box);
    ctx.lineWidth = bold ? 4 : 3;
    ctx.strokeStyle = palette.back;
    ctx.lineJoin = "round";
    ctx.strokeText(text, left, y);
    ctx.fillStyle = palette.text;
    ctx.fillText(text, left, y);
  }

  function paint(fast) {
    const ratio = window.devicePixelRatio || 1, { scale, x, y, width, height } = view, pad = scale;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    const left = (-x - pad) / scale, right = (width - x + pad) / scale, top = (-y - pad) / scale, bottom = (height - y + pad) / scale;
    const focus = hover || selected, near = new Set(focus ? [focus] : []);
    if (focus) for (const each of focus.links) if (each.on) near.add(other(each, focus));
    const usual = [], causal = [], lit = [], litCausal = [];
    for (const each of edges) {
      const { a, b } = each;
      if (!each.on || Math.max(a.x, b.x) < left || Math.min(a.x, b.x) > right || Math.max(a.y, b.y) < top || Math.min(a.y, b.y) > bottom) continue;
      const isCausal = each.mask & filter.types & CAUSAL;
      if (focus && (a === focus || b === focus)) (isCausal ? litCausal : lit).push(each);
      else if (!fast || usual.length + causal.length < FAST_EDGES) (isCausal ? causal : usual).push(each);
    }
    const crowd = Math.max(0.04, Math.min(0.45, 600 / (usual.length + 1))), dim = focus ? 0.25 : 1;
    lines(usual, palette.edge, crowd * dim, scale > 20 ? 1 : 0.7);
    lines(causal, palette.cause, Math.min(0.7, crowd * 1.8) * dim, scale > 20 ? 1.2 : 0.9);
    if (!fast && scale > 14 && causal.length < 2000) arrows(causal, palette.cause, Math.min(0.7, crowd * 1.8) * dim);
    lines(lit, palette.mark, 0.8, 1.4);
    lines(litCausal, palette.cause, 0.95, 1.6);
    arrows(litCausal, palette.cause, 0.95);

    const inside = nodes.filter((it) => it.on && it.x > left && it.x < right && it.y > top && it.y < bottom);
    const clear = inside.filter((it) => it.hit && (!focus || near.has(it)));
    const squares = fast && inside.length > FAST_DOTS;
    if (clear.length < inside.length) dots(inside.filter((it) => !it.hit || (focus && !near.has(it))), 0.18, squares);
    dots(clear, 1, squares);
    if (filter.query && clear.length < 400) for (const it of clear) ring(it, palette.mark);
    if (selected && selected.on) ring(selected, palette.text);
    if (hover && hover.on) ring(hover, palette.mark);

    ctx.textBaseline = "middle";
    const taken = [];
    if (hover && hover.on) {
      ctx.font = '600 13px system-ui, "DejaVu Sans", sans-serif';
      label(words(hover.text, 60), hover.x * scale + x, hover.y * scale + y - Math.max(3, hover.r * scale) - 13, taken, true);
    }
    ctx.font = '12px system-ui, "DejaVu Sans", sans-serif';
    const named = focus ? clear.filter((it) => it !== hover) : scale >= LABEL_SCALE ? clear : [];
    if (!fast || named.length < LABELS) {
      named.sort((a, b) => b.degree - a.degree || a.at - b.at);
      for (const it of named.slice(0, LABELS)) {
        label(words(it.text, 26), it.x * scale + x, it.y * scale + y + Math.max(3, it.r * scale) + 10, taken, false);
      }
    }
    if (!focus && scale < LABEL_SCALE) groupLabels(taken);
  }

  // While memories are too small to have labels, communities have, the largest first where there is no room for all.
  function groupLabels(taken) {
    const sums = new Map();
    for (const it of nodes) {
      if (!it.on || !it.community) continue;
      const sum = sums.get(it.community) || [0, 0, 0];
      sums.set(it.community, [sum[0] + it.x, sum[1] + it.y, sum[2] + 1]);
    }
    ctx.font = '600 13px system-ui, "DejaVu Sans", sans-serif';
    for (const [number] of data.communities.slice(0, LABELS)) {
      const sum = sums.get(number);
      if (!sum) continue;
      const px = sum[0] / sum[2] * view.scale + view.x, py = sum[1] / sum[2] * view.scale + view.y;
      if (px > 0 && px < view.width && py > 0 && py < view.height) label(words(heads.get(number).text, 26), px, py, taken, true);
    }
  }

  // ---------------------------------------------------------------- places

  // The forces of Fruchterman and Reingold (1991), in their variant with a grid: memories push each other away within
  // REACH, links pull, and so does the middle. The start is a sunflower of communities, each a sunflower of its memories,
  // so no random number is drawn: the same store has the same picture.
  function begin() {
    const groups = new Map();
    for (const it of nodes) groups.set(it.community, [...(groups.get(it.community) || []), it]);
    let before = 0, turn = 0;
    for (const members of [...groups.values()].sort((a, b) => b.length - a.length)) {
      const far = Math.sqrt(before && before + members.length / 2), way = GOLDEN * turn++;
      members.forEach((it, at) => {
        const near = 0.6 * Math.sqrt(members.length > 1 ? at + 0.5 : 0);
        it.x = far * Math.cos(way) + near * Math.cos(GOLDEN * at);
        it.y = far * Math.sin(way) + near * Math.sin(GOLDEN * at);
      });
      before += members.length;
    }
    const pulls = nodes.map(() => 0), found = [];
    for (const each of edges) { // those of which a memory has none yet come first, and so on
      if (each.a === each.b || Math.min(pulls[each.a.at], pulls[each.b.at]) >= BACKBONE) continue;
      pulls[each.a.at]++;
      pulls[each.b.at]++;
      found.push(each);
    }
    return found.map(({ a, b, weight }) => [a, b, Math.max(weight, 0.05) / Math.sqrt(pulls[a.at] * pulls[b.at])]);
  }

  function push(a, b) {
    const dx = a.x - b.x || 1e-4 * (b.at - a.at), dy = a.y - b.y, square = dx * dx + dy * dy;
    if (square > REACH * REACH) return;
    a.dx += dx / square;
    a.dy += dy / square;
    b.dx -= dx / square;
    b.dy -= dy / square;
  }

  function arrange(links, heat) {
    const cells = new Map(), key = (column, line) => column * 65536 + line, cell = (value) => Math.floor(value / REACH);
    for (const it of nodes) {
      const middle = GRAVITY / Math.sqrt(nodes.length) / (Math.hypot(it.x, it.y) + 1);
      [it.dx, it.dy] = [-it.x * middle, -it.y * middle];
      const column = cell(it.x), line = cell(it.y);
      for (let x = column - 1; x <= column + 1; x++) for (let y = line - 1; y <= line + 1; y++) {
        for (const each of cells.get(key(x, y)) || []) push(it, each);
      }
      const members = cells.get(key(column, line));
      if (members) members.push(it); else cells.set(key(column, line), [it]);
    }
    for (const [a, b, share] of links) {
      const dx = a.x - b.x, dy = a.y - b.y, force = share * Math.hypot(dx, dy);
      a.dx -= dx * force;
      a.dy -= dy * force;
      b.dx += dx * force;
      b.dy += dy * force;
    }
    for (const it of nodes) {
      if (it === dragged) continue;
      const length = Math.hypot(it.dx, it.dy), step = Math.min(length, heat) / (length || 1);
      it.x += it.dx * step;
      it.y += it.dy * step;
    }
  }

  function arrangeAll() {
    const links = begin(), rounds = nodes.length > 1 ? Math.min(ROUNDS, 50 + nodes.length) : 0;
    let round = 0;
    const go = () => {
      const ends = performance.now() + FRAME_MS;
      while (round < rounds && performance.now() < ends) {
        arrange(links, HEAT * Math.sqrt(nodes.length) * (1 - round / rounds));
        round++;
      }
      busyUntil = round < rounds ? Infinity : 0;
      if (touched) repaint(); else fit();
      if (round < rounds) requestAnimationFrame(go);
    };
    go();
  }

  // ---------------------------------------------------------------- pointer and keys

  const pointers = new Map();
  let dragged = null, pulled = [], start = null;

  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  function nodeAt(px, py) {
    const wx = (px - view.x) / view.scale, wy = (py - view.y) / view.scale;
    let best = null, least = Infinity;
    for (const it of nodes) {
      if (!it.on) continue;
      const reach = Math.max(it.r, 7 / view.scale), distance = Math.hypot(it.x - wx, it.y - wy);
      if (distance < reach && distance < least) [best, least] = [it, distance];
    }
    return best;
  }

  // The memories that follow a dragged one, and the links between them with their length now.
  function pull(node) {
    const found = new Set([node]);
    let edge = [node];
    for (let hop = 0; hop < HOPS && found.size < PULLED; hop++) {
      const next = [];
      for (const it of edge) for (const each of it.links) {
        const to = other(each, it);
        if (each.on && !found.has(to) && found.size < PULLED) {
          found.add(to);
          next.push(to);
        }
      }
      edge = next;
    }
    pulled = [];
    for (const it of found) for (const each of it.links) if (each.a === it && each.on && found.has(each.b)) {
      each.length = Math.hypot(each.a.x - each.b.x, each.a.y - each.b.y);
      pulled.push(each);
    }
  }

  // Springs: every link goes back to its length, half from each end; the dragged memory stays under the pointer.
  function relax() {
    for (let round = 0; round < 3; round++) for (const { a, b, length } of pulled) {
      const dx = b.x - a.x, dy = b.y - a.y, distance = Math.hypot(dx, dy);
      if (distance <= length || !distance) continue; // only pulled along, never pushed away
      const share = 0.25 * (distance - length) / distance;
      if (a !== dragged) { a.x += dx * share; a.y += dy * share; }
      if (b !== dragged) { b.x -= dx * share; b.y -= dy * share; }
    }
  }

  function setHover(node) {
    if (hover === node) return;
    hover = node;
    canvas.classList.toggle("over", Boolean(node));
    repaint();
  }

  canvas.addEventListener("pointerdown", (event) => {
    const [px, py] = place(event);
    pointers.set(event.pointerId, [px, py]);
    canvas.setPointerCapture(event.pointerId);
    dragged = pointers.size === 1 ? nodeAt(px, py) : null;
    start = [px, py];
    if (dragged) pull(dragged);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [px, py] = place(event), before = pointers.get(event.pointerId);
    if (!before) return setHover(nodeAt(px, py));
    pointers.set(event.pointerId, [px, py]);
    if (start && Math.hypot(px - start[0], py - start[1]) > 4) start = null;
    if (start) return;
    canvas.classList.add("moving");
    if (pointers.size === 2) {
      const [[ax, ay], [bx, by]] = [...pointers.values()], rest = [...pointers.entries()].find(([id]) => id !== event.pointerId)[1];
      const was = Math.hypot(before[0] - rest[0], before[1] - rest[1]) || 1;
      zoom(Math.hypot(ax - bx, ay - by) / was, (ax + bx) / 2, (ay + by) / 2);
    } else if (dragged) {
      dragged.x += (px - before[0]) / view.scale;
      dragged.y += (py - before[1]) / view.scale;
      relax();
      moved();
    } else {
      view.x += px - before[0];
      view.y += py - before[1];
      moved();
    }
  });
  const release = (event) => {
    if (!pointers.delete(event.pointerId)) return;
    canvas.classList.remove("moving");
    if (start && event.type === "pointerup") select(dragged, false);
    start = dragged = null;
    repaint();
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => setHover(null));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...place(event));
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => zoom(2, ...place(event)));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
    if (step) {
      view.x += step[0];
      view.y += step[1];
      moved();
    } else if (event.key === "+" || event.key === "=") zoom(1.3);
    else if (event.key === "-") zoom(1 / 1.3);
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && selected) select(null, true);
    else if (event.key === "/" && !/^(INPUT|SELECT)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      $("query").focus();
    }
  });

  // ---------------------------------------------------------------- list and detail

  function element(tag, text, name) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    return made;
  }

  function button(text, act, name) {
    const made = element("button", text, name);
    made.type = "button";
    made.addEventListener("click", act);
    return made;
  }

  const dot = (colour) => element("span", undefined, colour < 0 ? "dot" : `dot c${colour}`);

  function row(it, note) {
    const made = button(undefined, () => select(it, true), "row"), text = element("span", words(it.text, 120), "words");
    text.dir = "auto";
    made.append(dot(it.colour), text, element("small", note));
    made.addEventListener("focus", () => setHover(it));
    made.addEventListener("blur", () => setHover(null));
    made.addEventListener("pointerenter", () => setHover(it));
    made.addEventListener("pointerleave", () => setHover(null));
    const line = element("li");
    line.append(made);
    return line;
  }

  function more() {
    const next = shown.slice(made, made + PAGE);
    $("list").append(...next.map((it) => {
      const line = row(it, `${day(it.created)} · ${it.category} · ${it.degree} linked`);
      if (it === selected) line.firstChild.setAttribute("aria-current", "true");
      return line;
    }));
    made += next.length;
    if (made < shown.length && $("list").scrollHeight <= $("list").clientHeight) more();
  }

  const end = () => {
    const list = $("list"), within = list.scrollHeight > list.clientHeight + 1;
    const left = within ? list.scrollHeight - list.clientHeight - list.scrollTop : list.getBoundingClientRect().bottom - window.innerHeight;
    if (left < 300 && made < shown.length) more();
  };
  $("list").addEventListener("scroll", end, { passive: true });
  window.addEventListener("scroll", end, { passive: true });

  function section(title, child) {
    return [element("h2", title), child];
  }

  function select(it, move) {
    for (const each of $("list").querySelectorAll("[aria-current]")) each.removeAttribute("aria-current");
    const before = selected, box = $("detail");
    selected = it;
    box.hidden = !it;
    if (!it) {
      if (before && move) canvas.focus({ preventScroll: true });
      return repaint();
    }
    const at = shown.indexOf(it);
    if (at >= 0 && at < made) $("list").children[at].firstChild.setAttribute("aria-current", "true");
    const text = element("p", it.text, "text");
    text.dir = "auto";
    const facts = element("dl");
    const group = data.communities[rank.get(it.community)];
    const pairs = [["stored", it.created.replace("T", " ").replace(/\.\d+Z$/, " UTC")], ["category", it.category],
      ["importance", `${it.importance} of 5${it.pinned ? ", pinned" : ""}`], ["id", it.id]];
    if (it.start) pairs.push(["speaks of", it.end && day(it.end) !== day(it.start) ? `${day(it.start)} to ${day(it.end)}` : day(it.start)]);
    if (it.project) pairs.push(["project", it.project]);
    if (group) pairs.push(["community", `${group[0]}, with ${words(heads.get(group[0]).text, 40)}`]);
    for (const [name, value] of pairs) facts.append(element("dt", name), element("dd", plain(value)));
    box.replaceChildren(button("Close", () => select(null, true), "close"), text, facts);
    if (it.tags.length) {
      const tags = element("div", undefined, "chips");
      tags.append(...it.tags.map((each) => element("span", plain(each), "tag")));
      box.append(...section("Tags", tags));
    }
    if (it.names.length) {
      const names = element("div", undefined, "chips");
      names.append(...it.names.map((each) => button(plain(each), () => { filter.entity = each; refilter(); })));
      box.append(...section("Names (show the memories that have one)", names));
    }
    if (it.relations) {
      const stated = element("ul");
      stated.append(...it.relations.map((each) => element("li", each.map(plain).join(" · "))));
      box.append(...section("States", stated));
    }
    const linked = it.links.filter((each) => each.on).sort((a, b) => b.weight - a.weight);
    if (linked.length) {
      const list = element("ul");
      list.append(...linked.map((each) => {
        const way = each.mask & CAUSAL ? (each.a === it ? " → effect" : " ← cause") : "";
        return row(other(each, it), `${kinds(each.mask)}${way} · ${each.weight.toFixed(2)}`);
      }));
      box.append(...section(`Linked to ${linked.length}${it.degree > linked.length ? ` of ${it.degree}; the others are left out` : ""}`, list));
    }
    box.scrollTop = 0;
    if (move) {
      const x = it.x * view.scale + view.x, y = it.y * view.scale + view.y;
      if (x < 40 || y < 40 || x > view.width - 40 || y > view.height - 40) {
        view.x += view.width / 2 - x;
        view.y += view.height / 2 - y;
      }
      box.focus({ preventScroll: true });
      }
    if (move || !matchMedia("(max-width: 760px)").matches) box.scrollIntoView({ block: "nearest" });
    repaint();
  }

  // ---------------------------------------------------------------- filters

  function check(parent, text, act) {
    const box = element("input"), line = element("label");
    box.type = "checkbox";
    box.checked = true;
    box.addEventListener("change", () => { act(box.checked); refilter(); });
    line.append(box, ` ${text}`);
    $(parent).append(line);
  }

  const count = (found) => found.toLocaleString("en");
  for (const each of data.categories) {
    check("categories", `${each} (${count(nodes.filter((it) => it.category === each).length)})`,
      (on) => (on ? filter.categories.add(each) : filter.categories.delete(each)));
  }
  data.types.forEach((each, at) => {
    check("types", `${each} (${count(edges.filter((it) => it.mask >> at & 1).length)})`, (on) => { filter.types ^= 1 << at; return on; });
  });
  for (const [number, memories] of data.communities.slice(0, 40)) {
    const each = button(undefined, () => { filter.community = filter.community === number ? 0 : number; refilter(); });
    each.number = number;
    each.append(dot(rank.get(number) % COLOURS), `${words(heads.get(number)?.text || "", 40) || `community ${number}`} (${memories})`);
    $("groups").append(each);
  }
  const times = nodes.map((it) => it.time);
  if (nodes.length) {
    const iso = (time) => new Date(time).toISOString().slice(0, 10);
    const [least, most] = times.reduce(([low, high], it) => [Math.min(low, it), Math.max(high, it)], [Infinity, -Infinity]);
    for (const each of [$("since"), $("until")]) [each.min, each.max] = [iso(least), iso(most)];
  }
  const dated = () => {
    filter.since = $("since").value ? Date.parse($("since").value) : -Infinity;
    filter.until = $("until").value ? Date.parse($("until").value) + 86400000 : Infinity;
    refilter();
  };
  $("since").addEventListener("change", dated);
  $("until").addEventListener("change", dated);
  $("query").addEventListener("input", () => { filter.query = $("query").value; refilter(); });
  $("order").addEventListener("change", () => { filter.order = $("order").value; refilter(); });
  $("reset").addEventListener("click", () => {
    for (const each of document.querySelectorAll("#filters input")) each.type === "checkbox" ? (each.checked = true) : (each.value = "");
    $("query").value = "";
    Object.assign(filter, { query: "", categories: new Set(data.categories), types: (1 << data.types.length) - 1,
      since: -Infinity, until: Infinity, community: 0, entity: "" });
    refilter();
    fit();
  });
  $("in").addEventListener("click", () => zoom(1.4));
  $("out").addEventListener("click", () => zoom(1 / 1.4));
  $("fit").addEventListener("click", fit);

  // ---------------------------------------------------------------- start

  $("app").hidden = false;
  readColours();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", readColours);
  new ResizeObserver(resize).observe($("stage"));
  refilter();
  resize();
  arrangeAll();
})();
