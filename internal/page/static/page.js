// The page of a running floe. It asks /status every second and /history.json every five, and shows what they say. Everything that comes
// from there is data: it goes in as text, never as markup.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const narrow = matchMedia("(max-width: 860px)");
  const HOUR = 3600e3;

  // ---- state
  let chosen = "";            // the topology that is shown, by its name and table
  let statuses = [];          // the last answer
  let history = new Map();    // samples by topology and instance
  let newest = 0;             // of all samples
  const recent = new Map();   // what was counted in the last seconds, for rates
  let skew = 0;               // the server's clock less the browser's
  let lostSince = null, paused = false, largest = false, instanceSeen = "", restarted = null;

  // ---- text
  const int = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
  const short = new Intl.NumberFormat("en-GB", { notation: "compact", maximumFractionDigits: 1 });
  const num = (n) => int.format(n || 0);
  const rate = (n) => (n === null ? "–" : n < 10 && n > 0 ? n.toFixed(1) : n < 100000 ? num(n) : short.format(n)) + "/s";
  const size = (n) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let i = 0;
    for (n = n || 0; n >= 1024 && i < units.length - 1; i++) n /= 1024;
    return (i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)) + " " + units[i];
  };
  const secs = (s) => s === undefined || s === null ? "–" : s < 0.9995 ? Math.round(s * 1000) + " ms" : s < 100 ? s.toFixed(1) + " s" : span(s);
  const span = (s) => s < 60 ? Math.floor(s) + " s" : s < 3600 ? Math.floor(s / 60) + " min" : s < 86400 ?
    Math.floor(s / 3600) + " h " + Math.floor(s % 3600 / 60) + " min" : Math.floor(s / 86400) + " d " + Math.floor(s % 86400 / 3600) + " h";
  const since = (t) => Math.max(0, (Date.now() + skew - Date.parse(t)) / 1000);
  const clock = (t) => new Date(t).toLocaleTimeString("en-GB");

  // ---- elements. set only touches what has changed, so that a selection or a focus stays.
  const set = (e, text) => { if (e.textContent !== text) e.textContent = text; };
  const el = (tag, cls, text) => {
    const e = document.createElement(tag);
    if (cls) e.className = cls;
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const svg = (tag, attrs, parent) => {
    const e = document.createElementNS(SVG, tag);
    for (const [k, v] of Object.entries(attrs || {})) e.setAttribute(k, v);
    if (parent) parent.append(e);
    return e;
  };
  // rows makes tbody hold as many rows as there are of data, and has fill write each; cells are made once.
  const rows = (tbody, data, make, fill) => {
    while (tbody.rows.length > data.length) tbody.deleteRow(-1);
    data.forEach((d, i) => {
      let tr = tbody.rows[i];
      if (!tr) {
        tr = tbody.insertRow();
        make(tr);
      }
      fill(tr, d);
    });
  };
  const cells = (...classes) => (tr) => classes.forEach((c) => {
    const td = tr.insertCell();
    td.className = c;
    if (c !== "bar") return;
    const track = el("div", "track"), s = svg("svg", { "aria-hidden": "true", viewBox: "0 0 100 8", preserveAspectRatio: "none" });
    svg("rect", { height: 8, width: 0 }, s);
    track.append(s, el("span", "num"));
    td.append(track);
  });
  const write = (tr, ...texts) => texts.forEach((t, i) => {
    const td = tr.cells[i];
    if (td.className !== "bar") return set(td, t);
    td.querySelector("rect").setAttribute("width", Math.round(100 * t.share));
    set(td.querySelector(".num"), t.text);
  });

  // ---- what a status says
  const key = (s) => s.topology + " " + s.instance;
  const sum = (list, f) => (list || []).reduce((n, x) => n + (f(x) || 0), 0);
  const totals = (s) => ({
    t: performance.now(), read: (s.source || {}).records || 0, rows: sum(s.committers, (c) => c.rows),
    rejects: sum(Object.values(s.rejects || {}), (n) => n), sealed: sum(s.tasks, (t) => t.sealed.rows),
  });
  const rates = (s) => {
    const seen = recent.get(key(s)) || [];
    const a = seen[0], b = seen[seen.length - 1];
    if (seen.length < 2 || b.t - a.t < 500) return { read: null, rows: null, rejects: null, sealed: null };
    const per = (k) => Math.max(0, (b[k] - a[k]) * 1000 / (b.t - a.t));
    return { read: per("read"), rows: per("rows"), rejects: per("rejects"), sealed: per("sealed") };
  };
  const remember = (list) => {
    for (const s of list) {
      const seen = recent.get(key(s)) || [];
      seen.push(totals(s));
      while (seen.length > 11) seen.shift(); // ten seconds
      recent.set(key(s), seen);
    }
    for (const k of [...recent.keys()]) if (!list.some((s) => key(s) === k)) recent.delete(k);
  };

  // ---- the picture
  let flow = null;
  const drawFlow = () => {
    const tall = narrow.matches;
    const at = tall ?
      { source: [10, 8], writers: [10, 138], committer: [10, 268], table: [10, 398], rejects: [10, 528] } :
      { source: [2, 8], writers: [322, 8], committer: [642, 8], table: [962, 8], rejects: [962, 138] };
    const w = tall ? 320 : 216, h = 90;
    const root = svg("svg", { viewBox: tall ? "0 0 340 630" : "0 0 1180 236", role: "img" });
    const parts = {};
    for (const [name, [x, y]] of Object.entries(at)) {
      const g = svg("g", {}, root);
      const box = svg("rect", { x, y, width: w, height: h, rx: 9, class: "box" }, g);
      const line = (dy, cls) => svg("text", { x: x + 14, y: y + dy, class: cls }, g);
      parts[name] = { g, box, title: line(25, "title"), one: line(50, ""), two: line(72, "small") };
    }
    const wire = (name, d, tip, x, y, anchor) => {
      const g = svg("g", {}, root);
      svg("path", { d, class: "wire" }, g);
      svg("path", { d: tip, class: "tip" }, g);
      parts[name] = { g, label: svg("text", { x, y, class: "rate", "text-anchor": anchor }, g) };
    };
    const arrow = (name, from, to) => {
      const [ax, ay] = at[from], [bx, by] = at[to];
      if (tall) {
        const x = ax + 60;
        wire(name, `M${x} ${ay + h} V${by - 7}`, `M${x - 5} ${by - 8} h10 l-5 8 z`, x + 14, (ay + h + by) / 2 + 4, "start");
      } else {
        const y = ay + h / 2;
        wire(name, `M${ax + w} ${y} H${bx - 7}`, `M${bx - 8} ${y - 5} v10 l8 -5 z`, (ax + w + bx) / 2 - 2, y - 9, "middle");
      }
    };
    arrow("read", "source", "writers");
    arrow("sealed", "writers", "committer");
    arrow("rows", "committer", "table");
    if (tall) {
      const x = 300, [, cy] = at.committer, [, ry] = at.rejects;
      wire("bad", `M330 ${cy + h / 2} H337 V${ry + h / 2} H${331 + 5}`, `M${331 + 7} ${ry + h / 2 - 5} v10 l-8 -5 z`, x, ry - 14, "end");
    } else {
      const [cx, cy] = at.committer, [rx, ry] = at.rejects, x = cx + w / 2, y = ry + h / 2;
      wire("bad", `M${x} ${cy + h} V${y} H${rx - 7}`, `M${rx - 8} ${y - 5} v10 l8 -5 z`, (x + rx) / 2, y - 9, "middle");
    }
    $("flow").replaceChildren(root);
    flow = { root, parts };
  };
  const clip = (text, n) => text.length > n ? text.slice(0, n - 1) + "…" : text;
  const showFlow = (s, r) => {
    const p = flow.parts, src = s.source || {}, com = s.committers || [], bad = sum(Object.values(s.rejects || {}), (n) => n);
    const fill = (name, title, one, two, state) => {
      set(p[name].title, clip(title, 26)); set(p[name].one, clip(one, 31)); set(p[name].two, clip(two, 36));
      p[name].box.setAttribute("class", "box" + (state ? " " + state : ""));
    };
    const part = (x) => (s.troubles || []).some((t) => t.part.startsWith(x)) ? "bad" : s.phase === "running" ? "good" : "";
    const topics = [...new Set((s.partitions || []).map((x) => x.topic))];
    fill("source", src.name || "source", topics.length === 1 ? topics[0] : num(topics.length) + " topics",
      num(src.partitions) + " partitions, " + num(src.lag_records) + " behind", src.stopped ? "bad" : part("source"));
    const phases = {};
    for (const t of s.tasks || []) phases[t.phase] = (phases[t.phase] || 0) + 1;
    fill("writers", num((s.tasks || []).length) + " writer" + ((s.tasks || []).length === 1 ? "" : "s"),
      Object.entries(phases).map(([k, n]) => n + " " + k).join(", ") || "–",
      num(sum(s.tasks, (t) => t.open_rows)) + " rows open, " + size(sum(s.tasks, (t) => t.open_bytes)), part("writer"));
    fill("committer", com.length > 1 ? num(com.length) + " committers" : "committer", com.map((c) => c.phase).join(", ") || "–",
      num(sum(com, (c) => c.pending_files)) + " files wait, " + num(sum(com, (c) => c.commits)) + " commits", part("committer"));
    fill("table", s.table || "table", num(sum(com, (c) => c.rows)) + " rows", num(s.snapshots) + " snapshots", part("table"));
    for (const g of [p.rejects.g, p.bad.g]) g.style.display = s.rejects_table ? "" : "none";
    const [width, low, high] = narrow.matches ? [340, 500, 630] : [1180, 106, 236];
    p.rejects.g.ownerSVGElement.setAttribute("viewBox", `0 0 ${width} ${s.rejects_table ? high : low}`);
    fill("rejects", s.rejects_table || "", num(bad) + " rejects", num(sum(com, (c) => c.outbox_files)) + " files wait in the outbox", part("rejects"));
    set(p.read.label, rate(r.read)); set(p.sealed.label, rate(r.sealed)); set(p.rows.label, rate(r.rows)); set(p.bad.label, rate(r.rejects));
    flow.root.setAttribute("aria-label", `${src.name || "source"}: ${num(src.partitions)} partitions, reading ${rate(r.read)}; ` +
      `${num((s.tasks || []).length)} writers; ${num(sum(com, (c) => c.rows))} rows committed to ${s.table || "the table"}; ${num(bad)} rejects`);
  };

  // ---- numbers
  const tiles = {};
  const tile = (id, name, value, more) => {
    if (!tiles[id]) {
      const box = el("div");
      tiles[id] = [el("dd"), el("dd")];
      tiles[id][0].id = "v-" + id;
      box.append(el("dt", "", name), ...tiles[id]);
      $("tiles").append(box);
    }
    set(tiles[id][0], value); set(tiles[id][1], more);
  };
  const showTiles = (s, r) => {
    const src = s.source || {}, com = s.committers || [], wal = s.wal || {};
    const last = (s.commits || [])[0];
    tile("read", "Records read", num(src.records), rate(r.read) + ", " + size(src.bytes));
    tile("rows", "Rows committed", num(sum(com, (c) => c.rows)), rate(r.rows) + ", " + size(sum(com, (c) => c.bytes)));
    tile("lag", "Records behind", s.phase === "ended" ? "–" : num(src.lag_records), s.phase === "ended" ? "it has ended" : src.lag_records ? "for " + secs(src.lag_seconds) : "caught up");
    tile("commits", "Commits", num(sum(com, (c) => c.commits)), last ? "last " + span(since(last.at)) + " ago" : "none yet");
    const oldest = com.map((c) => c.oldest_pending).filter(Boolean).sort()[0];
    tile("pending", "Files waiting", num(sum(com, (c) => c.pending_files)), oldest ? "oldest " + span(since(oldest)) : "none");
    tile("wal", "WAL entries", num(wal.entries), wal.oldest ? "oldest " + span(since(wal.oldest)) : "none");
    tile("filtered", "Filtered", num(sum(s.tasks, (t) => t.sealed.filtered)), "made no row");
    tile("rejected", "Rejects", num(sum(Object.values(s.rejects || {}), (n) => n)), s.rejects_table ? "in sealed batches" : "a bad record stops floe");
  };

  // ---- the last hour
  const charts = [];
  const chart = (title, series, format) => {
    const fig = el("figure"), cap = el("figcaption"), plot = el("div", "plot"), axis = el("div", "axis");
    const read = el("span", "read"), keys = el("span");
    if (series.length > 1) series.forEach((x, i) => keys.append(el("span", "key" + (i ? " two" : ""), x.name)));
    cap.append(el("b", "", title), keys, read);
    plot.tabIndex = 0;
    plot.setAttribute("role", "img");
    const root = svg("svg", { viewBox: "0 0 400 130", preserveAspectRatio: "none", "aria-hidden": "true" }, plot);
    for (const y of [1, 65, 129]) svg("line", { x1: 0, x2: 400, y1: y, y2: y, class: "grid" }, root);
    const paths = series.map((_, i) => svg("path", { class: i ? "two" : "one" }, root));
    const cursor = svg("line", { y1: 0, y2: 130, class: "cursor", visibility: "hidden" }, root);
    const left = el("span"), right = el("span", "", "now");
    axis.append(left, right);
    fig.append(cap, plot, axis);
    $("charts").append(fig);
    const c = { title, series, format, points: [], pick: -1, plot, paths, cursor, read, left };
    const move = (i) => { c.pick = i < 0 || i >= c.points.length ? -1 : i; tell(c); };
    plot.addEventListener("keydown", (e) => {
      const last = c.points.length - 1, from = c.pick < 0 ? last : c.pick;
      const to = { ArrowLeft: from - 1, ArrowRight: Math.min(last, from + 1), PageUp: from - 60, PageDown: Math.min(last, from + 60), Home: 0, End: last, Escape: -1 }[e.key];
      if (to === undefined) return;
      e.preventDefault();
      move(e.key === "Escape" ? -1 : Math.max(0, to));
    });
    plot.addEventListener("blur", () => move(-1));
    plot.addEventListener("pointermove", (e) => {
      const b = plot.getBoundingClientRect(), x = (e.clientX - b.left) / b.width * 400;
      let best = -1;
      c.points.forEach((p, i) => { if (best < 0 || Math.abs(p.x - x) < Math.abs(c.points[best].x - x)) best = i; });
      move(best);
    });
    plot.addEventListener("pointerleave", () => move(-1));
    charts.push(c);
  };
  chart("Records per second", [{ name: "read", of: (a, b) => (b.read - a.read) * 1000 / (b.t - a.t) },
    { name: "committed", of: (a, b) => (b.rows - a.rows) * 1000 / (b.t - a.t) }], rate);
  chart("Commit latency", [{ name: "longest", of: (a, b) => b.commit || null }], secs);
  chart("Records behind", [{ name: "lag", of: (a, b) => b.lag }], num);
  const tell = (c) => {
    const p = c.points[c.pick < 0 ? c.points.length - 1 : c.pick];
    c.cursor.setAttribute("visibility", c.pick < 0 ? "hidden" : "visible");
    if (p) { c.cursor.setAttribute("x1", p.x); c.cursor.setAttribute("x2", p.x); }
    const values = p ? c.series.map((s, i) => (c.series.length > 1 ? s.name + " " : "") + (p.v[i] === null ? "–" : c.format(p.v[i]))).join(", ") : "no sample yet";
    set(c.read, (c.pick >= 0 && p ? clock(p.t) + " " : "") + values + (c.top > 0 ? ", most " + c.format(c.top) : ""));
    c.plot.setAttribute("aria-label", c.title + ", " + c.read.textContent + ". Arrow keys move through the samples.");
  };
  const showCharts = (s) => {
    const samples = history.get(key(s)) || [];
    const end = samples.length ? samples[samples.length - 1].t : Date.now();
    const begin = Math.max(end - HOUR, Math.min(samples.length ? samples[0].t : end, end - 300e3));
    for (const c of charts) {
      c.points = samples.slice(1).map((b, i) => ({ t: b.t, x: 400 * (b.t - begin) / (end - begin), v: c.series.map((f) => f.of(samples[i], b)) }));
      c.top = Math.max(0, ...c.points.flatMap((p) => p.v.map((v) => v || 0)));
      c.paths.forEach((path, i) => {
        let d = "";
        for (const p of c.points) if (p.v[i] !== null) d += (d ? "L" : "M") + p.x.toFixed(1) + " " + (129 - 126 * p.v[i] / (c.top || 1)).toFixed(1);
        path.setAttribute("d", d);
      });
      set(c.left, span((end - begin) / 1000) + " ago");
      if (c.pick >= c.points.length) c.pick = -1;
      tell(c);
    }
  };

  // ---- tables
  const showPartitions = (s) => {
    let list = s.partitions || [];
    if (largest) list = [...list].sort((a, b) => (b.lag_records || 0) - (a.lag_records || 0));
    const most = Math.max(1, ...list.map((p) => p.lag_records || 0)), shown = list.slice(0, 200);
    rows($("partitions"), shown, cells("name", "bar", "n", "n", "n"), (tr, p) => {
      const lag = p.lag_records, name = p.topic + "/" + p.partition;
      write(tr, name, { share: (lag || 0) / most, text: p.stopped ? "stopped" : lag === undefined ? "–" : num(lag) },
        lag === 0 ? "0" : secs(p.lag_seconds), num(p.committed), p.end === undefined ? "–" : num(p.end));
      tr.cells[0].title = p.stopped || name;
    });
    set($("partitions-note"), list.length > shown.length ? num(shown.length) + " of " + num(list.length) + "; /status has all." : list.length ? "" : "No partition is owned.");
  };
  const showCommits = (s) => {
    rows($("commits"), s.commits || [], cells("", "mono", "n", "n", "n", "n"), (tr, c) =>
      write(tr, clock(c.at), c.snapshot_id, num(c.rows), num(c.files), size(c.bytes), secs(c.seconds)));
    set($("commits-note"), (s.commits || []).length ? "" : "Nothing has been committed in this run.");
  };
  const showTasks = (s) => rows($("tasks"), s.tasks || [], cells("", "", "n", "n", "n", "n"), (tr, t) =>
    write(tr, t.task, t.phase, num(t.open_rows), size(t.open_bytes), num(t.in_flight), num(t.sealed.rows)));
  const showRejects = (s) => {
    const list = Object.entries(s.rejects || {}).sort((a, b) => b[1] - a[1]);
    const most = Math.max(1, ...list.map((x) => x[1]));
    rows($("rejects"), list, cells("name", "bar"), (tr, [code, n]) => write(tr, code, { share: n / most, text: num(n) }));
    set($("rejects-note"), list.length ? "They are in " + s.rejects_table + "; floe rejects list shows them." : s.rejects_table ? "None in this run." : "This topology keeps no rejects: the first bad record stops it.");
  };
  const showRules = (s) => {
    const list = Object.entries(s.filtered_by || {}).sort((a, b) => b[1] - a[1]), most = Math.max(1, ...list.map((x) => x[1]));
    $("filter").hidden = list.length === 0;
    rows($("rules"), list, cells("name", "bar"), (tr, [rule, n]) => { write(tr, rule, { share: n / most, text: num(n) }); tr.cells[0].title = rule; });
  };
  const showWarnings = (s) => {
    const list = (s.troubles || []).map((t) => ({ text: `${t.part}, for ${span(since(t.since))}: ${t.error}`, hint: t.hint }));
    for (const p of s.partitions || []) if (p.stopped) list.push({ text: `partition ${p.topic}/${p.partition} is stopped: ${p.stopped}` });
    const now = list.length > 0;
    if (!now && s.last_error) list.push({ text: clock(s.last_error_at) + ": " + s.last_error, hint: s.hint });
    $("warnings").hidden = list.length === 0;
    $("warnings").className = now || s.phase === "ended" ? "" : "past";
    set($("warnings-title"), s.phase === "ended" ? "Why it ended" : now ? "What is wrong" : "The last error");
    const ul = $("warning-list");
    while (ul.children.length > list.length) ul.lastChild.remove();
    list.forEach((w, i) => {
      let li = ul.children[i];
      if (!li) {
        li = el("li");
        li.append(el("span"), el("span", "hint"));
        ul.append(li);
      }
      set(li.firstChild, w.text); set(li.lastChild, w.hint || "");
    });
  };

  // ---- the whole
  const showHead = (s) => {
    set($("name"), s.topology); set($("table"), s.table || "…");
    document.title = (s.ready ? "" : "! ") + s.topology + " – floe";
    const state = s.ready ? "good" : s.phase === "running" || s.phase === "ended" ? "bad" : "";
    $("phase").className = "badge " + state;
    set($("phase"), s.phase === "running" ? (s.ready ? "running" : "not ready") : s.phase);
    set($("uptime"), s.started && s.phase !== "ended" ? "for " + span(since(s.started)) : "");
    set($("instance"), "Instance " + s.instance + (restarted ? ", seen to start again at " + clock(restarted) : ""));
    $("chooser").hidden = statuses.length < 2;
    const options = statuses.map((x) => x.topology + " → " + (x.table || "…") + (x.phase === "ended" ? ", ended" : ""));
    const sel = $("choice");
    if ([...sel.options].map((o) => o.textContent).join("\n") !== options.join("\n")) {
      sel.replaceChildren(...options.map((o, i) => { const e = el("option", "", o); e.value = i; return e; }));
    }
    sel.value = String(statuses.indexOf(s));
  };
  const show = () => {
    const s = statuses.find((x) => x.topology + "\n" + x.table === chosen) ||
      statuses.find((x) => chosen && x.topology === chosen.split("\n")[0]) || statuses[0]; // its table may have become known just now
    if (!s) return;
    if (instanceSeen && s.instance !== instanceSeen && s.topology + "\n" + s.table === chosen) restarted = Date.now();
    instanceSeen = s.instance;
    chosen = s.topology + "\n" + s.table;
    const r = rates(s);
    if (!flow) drawFlow();
    showHead(s); showWarnings(s); showFlow(s, r); showTiles(s, r); showPartitions(s); showCommits(s); showTasks(s); showRejects(s); showRules(s); showCharts(s);
    document.body.dataset.seen = String(Number(document.body.dataset.seen || 0) + 1);
  };

  // ---- asking
  const ask = async (path) => {
    const answer = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(5000) });
    if (!answer.ok) throw new Error(path + " answered " + answer.status);
    const date = Date.parse(answer.headers.get("date"));
    if (Math.abs(date - Date.now()) > 2000) skew = date - Date.now();
    return answer.json();
  };
  const connected = (ok) => {
    const box = $("connection");
    if (ok && lostSince) {
      lostSince = null;
      newest = 0; // another process may answer: it has its own hour
    } else if (!ok && !lostSince) {
      lostSince = Date.now();
    }
    document.body.classList.toggle("lost", Boolean(lostSince));
    if (lostSince) {
      $("phase").className = "badge bad";
      set($("phase"), "no answer");
      set($("uptime"), "");
    }
    box.hidden = !lostSince && !paused;
    box.className = lostSince ? "" : "fine";
    set(box, lostSince ? `The connection was lost at ${clock(lostSince)}. What is shown is from before; the page goes on by itself.` : paused ? "Paused: the numbers stand still." : "");
  };
  let beat = 0;
  const round = async () => {
    if (!paused && !document.hidden) {
      try {
        const got = await ask("status");
        statuses = got.topologies || [got];
        remember(statuses);
        connected(true);
        if (beat++ % 5 === 0 || newest === 0) await askHistory();
        show();
      } catch (e) {
        connected(false);
        console.error(e);
      }
    }
    setTimeout(round, 1000);
  };
  const askHistory = async () => {
    const got = await ask("history.json?after=" + newest), kept = new Map();
    for (const x of got.series) {
      const k = key(x), had = newest ? history.get(k) || [] : [];
      const all = had.concat(x.samples);
      kept.set(k, all.filter((p) => p.t > all[all.length - 1].t - HOUR));
    }
    history = kept;
    newest = Math.max(1, ...[...kept.values()].flatMap((x) => x.map((p) => p.t)));
  };

  $("pause").addEventListener("click", (e) => {
    paused = !paused;
    e.target.setAttribute("aria-pressed", String(paused));
    connected(!lostSince);
  });
  $("order").addEventListener("click", (e) => {
    largest = !largest;
    e.target.setAttribute("aria-pressed", String(largest));
    show();
  });
  $("choice").addEventListener("change", (e) => {
    const s = statuses[Number(e.target.value)];
    chosen = s.topology + "\n" + s.table;
    instanceSeen = "", restarted = null;
    show();
  });
  narrow.addEventListener("change", () => { flow = null; show(); });
  round();
})();
