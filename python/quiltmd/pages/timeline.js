// SPDX-License-Identifier: Apache-2.0
// The timeline of a profile: a canvas of tracks, one for each rank and stream, that zooms and pans.
// Times are microseconds. `data` is made by quiltmd/analysis/timeline_page.py:
//   names, kinds: of spans; colours: of kinds; tracks: {label, rank, spans: [begin, length, name, ...]};
//   messages: [name, from track, sent, to track, arrived, used, bytes, ...]; path: [track, begin, end, ...];
//   cuts: where steps were left out
"use strict";

function showTimeline(figure, data) {
  const canvas = figure.querySelector("canvas");
  const tip = figure.querySelector(".tip");
  const context = canvas.getContext("2d");
  const LABELS = 108, AXIS = 22, ROW = 22, GAP = 10, ARROWS = 500;
  const SPAN = 3, MESSAGE = 7, PATH = 3;  // numbers for each
  let begin = 0, end = Math.min(data.length, data.first);
  let drawn = [];  // what a pointer may find: [x, y, width, height, text]

  const rows = [];
  let height = AXIS;
  data.tracks.forEach((track, i) => {
    if (i && track.rank !== data.tracks[i - 1].rank) height += GAP;
    rows.push(height);
    height += ROW;
  });
  canvas.style.height = `${height + 6}px`;

  const style = (name) => getComputedStyle(figure).getPropertyValue(name).trim();
  const x = (time) => LABELS + (time - begin) / (end - begin) * (canvas.clientWidth - LABELS);
  const time = (px) => begin + (px - LABELS) / (canvas.clientWidth - LABELS) * (end - begin);
  const digits = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });
  const text = (us) => us >= 1000 ? `${digits(us / 1000)} ms` : `${digits(us)} us`;

  // The first span of a track that ends after a time.
  function firstAfter(spans, from) {
    let low = 0, high = spans.length / SPAN;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (spans[middle * SPAN] + spans[middle * SPAN + 1] < from) low = middle + 1;
      else high = middle;
    }
    return low * SPAN;
  }

  function drawAxis() {
    const rough = (end - begin) / 8, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((m) => m * power >= rough);
    context.fillStyle = style("--soft");
    context.strokeStyle = style("--grid");
    for (let t = Math.ceil(begin / step) * step; t <= end; t += step) {
      context.beginPath();
      context.moveTo(x(t), AXIS - 4);
      context.lineTo(x(t), height);
      context.stroke();
      const at = step >= 1000 ? `${t / 1000} ms` : `${+t.toFixed(3)} us`;
      if (x(t) + 3 + context.measureText(at).width <= canvas.clientWidth)
        context.fillText(at, x(t) + 3, 13);
    }
  }

  function drawCuts() {
    context.save();
    context.strokeStyle = style("--ink");
    context.setLineDash([5, 4]);
    for (const cut of data.cuts) {
      if (cut < begin || cut > end) continue;
      context.beginPath();
      context.moveTo(x(cut), 0);
      context.lineTo(x(cut), height);
      context.stroke();
      drawn.push([x(cut) - 4, 0, 8, AXIS, "steps that were not recorded are left out here"]);
    }
    context.restore();
  }

  function drawTrack(track, y) {
    context.fillStyle = style("--ink");
    context.fillText(track.label, 0, y + 15);
    const { spans } = track;
    let until = -1;
    for (let i = firstAfter(spans, begin); i < spans.length && spans[i] < end; i += SPAN) {
      const left = Math.max(x(spans[i]), LABELS), right = x(spans[i] + spans[i + 1]);
      if (right < until + 0.4) continue;  // nothing new to see
      const width = Math.max(right - left, 0.8);
      until = left + width;
      const kind = data.kinds[spans[i + 2]], name = data.names[spans[i + 2]];
      context.fillStyle = style(`--kind-${kind}`);
      context.fillRect(left, y + 2, width, ROW - 5);
      if (kind === "wait") hatch(left, y + 2, width);
      if (width > 46) label(name, left, y, width, kind);
      drawn.push([left, y, width, ROW, `${name}\n${text(spans[i + 1])}, at ${text(spans[i])}`]);
    }
  }

  function hatch(left, top, width) {
    context.save();
    context.beginPath();
    context.rect(left, top, width, ROW - 5);
    context.clip();
    context.strokeStyle = style("--paper");
    context.lineWidth = 1.5;
    context.beginPath();
    for (let at = left - ROW; at < left + width; at += 6) {
      context.moveTo(at, top + ROW);
      context.lineTo(at + ROW, top);
    }
    context.stroke();
    context.restore();
  }

  function label(name, left, y, width, kind) {
    context.save();
    context.beginPath();
    context.rect(left, y, width - 2, ROW);
    context.clip();
    if (kind === "wait") {
      const wide = Math.min(context.measureText(name).width + 6, width);
      context.fillStyle = style("--paper");
      context.fillRect(left, y + 4, wide, ROW - 9);
    }
    context.fillStyle = kind === "wait" ? style("--ink") : style(`--on-${kind}`);
    context.fillText(fitted(name, width - 6), left + 3, y + 15);
    context.restore();
  }

  // As much of a name as there is room for.
  function fitted(name, width) {
    if (context.measureText(name).width <= width) return name;
    let shown = name;
    while (shown && context.measureText(`${shown}\u2026`).width > width) shown = shown.slice(0, -1);
    return `${shown}\u2026`;
  }

  function drawPath() {
    context.fillStyle = style("--path");
    for (let i = 0; i < data.path.length; i += PATH) {
      const [track, from, to] = data.path.slice(i, i + PATH);
      if (to < begin || from > end) continue;
      const left = Math.max(x(from), LABELS);
      context.fillRect(left, rows[track] + ROW - 4, Math.max(x(to) - left, 0.6), 3);
    }
  }

  function drawMessages() {
    const { messages } = data, seen = [];
    for (let i = 0; i < messages.length && seen.length <= ARROWS; i += MESSAGE)
      if (messages[i + 5] >= begin && messages[i + 2] <= end) seen.push(i);
    if (seen.length > ARROWS || !figure.querySelector(".arrows").checked) return seen.length;
    context.save();
    context.beginPath();
    context.rect(LABELS, AXIS, canvas.clientWidth, height);
    context.clip();
    context.strokeStyle = context.fillStyle = style("--ink");
    for (const i of seen) {
      const [name, from, sent, to, arrived, used, bytes] = messages.slice(i, i + MESSAGE);
      const down = rows[to] > rows[from];
      const y0 = rows[from] + (down ? ROW - 3 : 2), y1 = rows[to] + (down ? 2 : ROW - 3);
      context.globalAlpha = 0.55;
      context.beginPath();
      context.moveTo(x(sent), y0);
      context.lineTo(x(used), y1);
      context.stroke();
      context.beginPath();
      context.arc(x(used), y1, 2.4, 0, 7);
      context.fill();
      drawn.push([x(used) - 4, y1 - 4, 8, 8,
        `${data.names[name]}, rank ${data.tracks[from].rank} to ${data.tracks[to].rank}\n` +
        `${bytes.toLocaleString("en")} bytes\nsent ${text(sent)}, arrived ${text(arrived)}, ` +
        `used ${text(used)}`]);
    }
    context.restore();
    return seen.length;
  }

  function draw() {
    const scale = window.devicePixelRatio || 1;
    canvas.width = canvas.clientWidth * scale;
    canvas.height = canvas.clientHeight * scale;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.font = "12px system-ui, sans-serif";
    drawn = [];
    drawAxis();
    data.tracks.forEach((track, i) => drawTrack(track, rows[i]));
    drawCuts();
    drawPath();
    const many = drawMessages() > ARROWS;
    figure.querySelector(".hint").textContent =
      `${text(begin)} to ${text(end)}${many ? "; zoom in to see messages" : ""}`;
  }

  function show(from, to) {
    const length = Math.min(Math.max(to - from, 0.5), data.length);
    begin = Math.min(Math.max(from, 0), data.length - length);
    end = begin + length;
    draw();
  }

  const zoom = (factor, centre = (begin + end) / 2) =>
    show(centre - (centre - begin) * factor, centre + (end - centre) * factor);
  const pan = (share) => show(begin + share * (end - begin), end + share * (end - begin));

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / canvas.clientWidth);
    else zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, time(event.offsetX));
  }, { passive: false });
  let held = null;
  canvas.addEventListener("pointerdown", (event) => {
    held = { px: event.offsetX, begin, end };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (held) {
      const moved = (held.px - event.offsetX) / (canvas.clientWidth - LABELS) * (held.end - held.begin);
      show(held.begin + moved, held.end + moved);
    }
    const [px, py] = [event.offsetX, event.offsetY];
    const found = drawn.findLast(([left, top, width, tall]) =>
      px >= left - 1 && px <= left + width + 1 && py >= top && py <= top + tall);
    tip.hidden = !found;
    if (!found) return;
    tip.textContent = found[4];
    tip.style.left = `${Math.max(0, Math.min(px + 14, canvas.clientWidth - tip.offsetWidth))}px`;
    tip.style.top = `${py + 16}px`;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("keydown", (event) => {
    const action = { "+": () => zoom(0.6), "-": () => zoom(1 / 0.6), ArrowLeft: () => pan(-0.25),
      ArrowRight: () => pan(0.25), Home: () => show(0, data.length) }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  const actions = { closer: () => zoom(0.5), wider: () => zoom(2), back: () => pan(-0.5),
    on: () => pan(0.5), step: () => show(begin, begin + data.step), all: () => show(0, data.length) };
  for (const [name, action] of Object.entries(actions))
    figure.querySelector(`[data-do=${name}]`).addEventListener("click", action);
  figure.querySelector(".arrows").addEventListener("change", draw);
  new ResizeObserver(draw).observe(figure);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
