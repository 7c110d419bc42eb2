// The browser test of floe's page: a real floe, fed without end, in a real Chromium.
//
//   node page.mjs FLOE FEEDER CHROMIUM SCRATCH SHOTS
//
// FLOE and FEEDER are the programs, SCRATCH is an empty folder for broker, catalog and warehouse, SHOTS takes the screenshots.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";

// The packages lie where the script was started, not beside this file.
const need = createRequire(join(process.cwd(), "x.js"));
const { chromium } = need("playwright-core");
const [floeBin, feederBin, chromiumBin, scratch, shots] = process.argv.slice(2);
const PATIENCE = 60e3;
mkdirSync(shots, { recursive: true });

let failures = 0;
const check = (ok, what) => {
  console.log((ok ? "ok    " : "FAIL  ") + what);
  if (!ok) failures++;
};

// free gives a port that nobody listens on.
const free = async () => {
  const s = createServer().listen(0, "127.0.0.1");
  await once(s, "listening");
  const { port } = s.address();
  s.close();
  await once(s, "close");
  return port;
};

const port = await free();
const base = `http://127.0.0.1:${port}/`;
const children = new Set();
const start = (bin, args, stdio) => {
  const p = spawn(bin, args, { stdio });
  children.add(p);
  p.on("exit", () => children.delete(p));
  return p;
};
const ended = (p) => (p.exitCode !== null || p.signalCode !== null ? Promise.resolve() : once(p, "exit"));
// floe runs until it is killed; up says that it answers.
const startFloe = async (...files) => {
  const p = start(floeBin, ["run", ...files.map((f) => join(scratch, f))], ["ignore", "ignore", "pipe"]);
  for await (const line of createInterface({ input: p.stderr })) if (line.includes("HTTP server listens")) break;
  p.stderr.resume();
  return p;
};
const json = async (path) => (await fetch(base + path)).json();

const browserArgs = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];
let browser;
try {
  const feeder = start(feederBin, [scratch, `127.0.0.1:${port}`], ["pipe", "pipe", "inherit"]);
  await once(createInterface({ input: feeder.stdout }), "line");
  let floe = await startFloe("floe.yaml");
  browser = await chromium.launch({ executablePath: chromiumBin, args: browserArgs });
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  const foreign = [], errors = [];
  page.on("request", (r) => { if (!r.url().startsWith(base)) foreign.push(r.url()); });
  page.on("pageerror", (e) => errors.push(String(e)));
  page.on("console", (m) => { if (/Content Security Policy/.test(m.text())) errors.push(m.text()); });
  await page.goto(base);

  const digits = (text) => Number(text.replace(/[^0-9]/g, ""));
  const shown = async (id) => digits(await page.locator("#v-" + id).innerText());
  const seen = () => page.evaluate(() => Number(document.body.dataset.seen || 0));
  const until = (f, arg) => page.waitForFunction(f, arg, { timeout: PATIENCE, polling: 100 });
  const rounds = async (n) => until((to) => Number(document.body.dataset.seen || 0) >= to, (await seen()) + n);
  await until(() => Number(document.getElementById("v-rows")?.textContent.replace(/[^0-9]/g, "")) > 3000);
  await until(() => /[0-9]/.test(document.querySelector("#flow .rate").textContent));

  // Numbers: what is shown lies between what /status said before and after, and the same holds for /metrics.
  const metric = (text, name) => text.split("\n").filter((l) => l.startsWith(name + "{")).reduce((n, l) => n + Number(l.slice(l.lastIndexOf(" "))), 0);
  const sum = (list, f) => list.reduce((n, x) => n + f(x), 0);
  const facts = async () => {
    const s = await json("status"), m = await (await fetch(base + "metrics")).text();
    return {
      status: { read: s.source.records, rows: sum(s.committers, (c) => c.rows), commits: sum(s.committers, (c) => c.commits),
        rejected: sum(Object.values(s.rejects || {}), (n) => n), filtered: sum(s.tasks, (t) => t.sealed.filtered) },
      metrics: { read: metric(m, "floe_records_read_total"), rows: metric(m, "floe_rows_committed_total"), commits: metric(m, "floe_commits_total"),
        rejected: metric(m, "floe_records_rejected_total"), filtered: metric(m, "floe_records_filtered_total") },
      raw: s,
    };
  };
  const before = await facts();
  await rounds(2);
  const on = {};
  for (const id of Object.keys(before.status)) on[id] = await shown(id);
  const commits = await page.locator("#commits tr").evaluateAll((trs) => trs.map((tr) => tr.cells[1].textContent));
  const after = await facts();
  for (const id of Object.keys(on)) {
    for (const from of ["status", "metrics"]) {
      const [low, high] = [before[from][id], after[from][id]];
      check(low > 0 && low <= on[id] && on[id] <= high, `${id}: the page shows ${on[id]}, /${from} ${low} to ${high}`);
    }
  }
  const known = new Set([...before.raw.commits, ...after.raw.commits].map((c) => c.snapshot_id));
  check(commits.length > 0 && commits.some((id) => known.has(id)), `snapshots of the last commits are those of /status (${commits.length} shown)`);
  check((await page.locator("#partitions tr").count()) === 8, "8 partitions have their lag");
  const reasons = await page.locator("#rejects tr").evaluateAll((trs) => trs.map((tr) => tr.cells[0].textContent).sort());
  const rules = await page.locator("#rules tr").evaluateAll((trs) => trs.map((tr) => tr.textContent));
  check(rules.length === 1 && /^tests[1-9]/.test(rules[0]), `filtered by rule: ${rules}`);
  check(String(reasons) === String(Object.keys(after.raw.rejects).sort()), `rejects by reason: ${reasons}`);

  // By keyboard: every control is reached, and charts are read with arrows.
  await page.evaluate(() => document.activeElement.blur());
  const reached = new Set();
  for (let i = 0; i < 20; i++) {
    await page.keyboard.press("Tab");
    reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.className || document.activeElement.textContent));
  }
  for (const id of ["pause", "order", "plot", "scroll"]) check(reached.has(id), `Tab reaches ${id}`);
  await until(() => (document.querySelector(".plot path").getAttribute("d") || "").split("L").length > 2);
  await page.locator(".plot").first().focus();
  await page.keyboard.press("ArrowLeft");
  check(/[0-9]{2}:[0-9]{2}:[0-9]{2}/.test(await page.locator("figcaption .read").first().innerText()), "an arrow key reads an earlier sample");
  await page.locator("#pause").focus();
  await page.keyboard.press("Enter");
  check(/Paused/.test(await page.locator("#connection").innerText()), "Enter pauses");
  await page.keyboard.press("Enter");

  // Pictures, and the accessibility of each.
  const axeSource = readFileSync(need.resolve("axe-core/axe.min.js"), "utf8");
  const pictures = async (prefix) => {
    for (const colour of ["light", "dark"]) {
      for (const [width, height] of [[1280, 800], [390, 800]]) {
        await page.emulateMedia({ colorScheme: colour });
        await page.setViewportSize({ width, height });
        await rounds(1);
        const name = `${prefix}${colour}-${width}`;
        await page.screenshot({ path: join(shots, name + ".png") });
        await page.screenshot({ path: join(shots, name + "-full.png"), fullPage: true });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        check(wide <= 0, `${name}: nothing is wider than the screen`);
        const found = await page.evaluate(axeSource + "; axe.run()");
        const bad = found.violations.filter((v) => ["serious", "critical"].includes(v.impact));
        check(found.passes.length > 10 && bad.length === 0, `${name}: axe-core finds nothing serious` +
          bad.map((v) => `\n      ${v.id}: ${v.help}: ${v.nodes.map((n) => n.target).join(", ")}`).join(""));
      }
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1280, height: 800 });
  };
  await pictures("");

  // The process is killed: the page says so. Another one comes: the page goes on with its numbers.
  const first = (await json("status")).instance;
  floe.kill("SIGKILL");
  await ended(floe);
  await until(() => /connection was lost/.test(document.getElementById("connection").textContent));
  check(true, "a lost connection is told of");
  await page.screenshot({ path: join(shots, "lost.png") });
  floe = await startFloe("floe.yaml");
  await until((id) => document.getElementById("connection").hidden && !document.getElementById("instance").textContent.includes(id), first);
  await until(() => Number(document.getElementById("v-rows").textContent.replace(/[^0-9]/g, "")) > 0);
  const now = await json("status");
  check(await page.locator("#instance").innerText().then((t) => t.includes(now.instance) && t.includes("start again")), "the restarted process is shown, and that it is another");
  const rows = await shown("rows"), later = sum((await json("status")).committers, (c) => c.rows);
  check(rows > 0 && rows <= later, `its numbers are its own: ${rows} of ${later} rows`);
  check(errors.length === 0, `no error in the page ${errors.join("; ")}`);
  check(foreign.length === 0, `no request elsewhere ${foreign.join(" ")}`);
  await page.screenshot({ path: join(shots, "restarted.png") });

  floe.kill("SIGTERM");
  await ended(floe);
  check(floe.exitCode === 0, "floe ended well");

  // Several topologies: each is chosen by keyboard and has its own numbers; the one that has ended says why.
  floe = await startFloe("floe.yaml", "returns.yaml", "strict.yaml");
  await until(() => document.querySelectorAll("#choice option").length === 3 && /, ended/.test(document.querySelectorAll("#choice option")[2].textContent));
  const numbers = (s) => ({ rows: sum(s.committers || [], (c) => c.rows), filtered: sum(s.tasks || [], (t) => t.sealed.filtered), read: (s.source || {}).records || 0 });
  let all = [];
  for (const deadline = Date.now() + PATIENCE; Date.now() < deadline; await rounds(1)) {
    all = (await json("status")).topologies.map(numbers);
    if (all[0].rows > 0 && all[1].filtered > 0) break;
  }
  check(all[0].rows > 0 && all[1].filtered > 0, "two go on beside the one that has ended");
  await page.locator("#choice").focus();
  await page.keyboard.press("Home");
  for (const [i, name] of ["orders", "returns", "strict"].entries()) {
    if (i > 0) await page.keyboard.press("ArrowDown");
    const low = numbers((await json("status")).topologies[i]);
    await rounds(2);
    check((await page.locator("#name").innerText()) === name && (await page.evaluate(() => document.activeElement.id)) === "choice", `the keyboard chooses ${name}`);
    const got = {};
    for (const id of Object.keys(low)) got[id] = await shown(id);
    const high = numbers((await json("status")).topologies[i]);
    for (const id of Object.keys(low)) check(low[id] <= got[id] && got[id] <= high[id], `${name}: ${id} ${got[id]} is its own, ${low[id]} to ${high[id]}`);
    const phase = await page.locator("#phase").innerText(), why = await page.locator("#warnings").innerText();
    const listed = await page.locator("#rules tr").evaluateAll((trs) => trs.map((tr) => tr.cells[0].textContent));
    check(String(listed) === { orders: "tests", returns: "keyless,never", strict: "" }[name], `${name}: its rules ${listed}`);
    if (name !== "strict") check(/running/i.test(phase), `${name} is running`);
    else check(/ended/i.test(phase) && /Why it ended/.test(why) && /orders\/[0-9]/.test(why) && /it has ended/.test(await page.locator("#tiles").innerText()), `${name} has ended, and why: ${why}`);
    if (name !== "orders") await pictures(name + "-");
    await page.locator("#choice").focus();
  }
  check(!/start again/.test(await page.locator("#instance").innerText()), "another topology is not taken for a restart");
  floe.kill("SIGTERM");
  await ended(floe);
  check(floe.exitCode === 1, "its end is in the exit code");
  check(errors.length === 0, `no error in the page with several ${errors.join("; ")}`);
  feeder.stdin.end();
  await ended(feeder);
} finally {
  if (browser) await browser.close();
  for (const p of children) p.kill("SIGKILL");
}
console.log(failures ? `${failures} FAILED` : "the page is as it should be");
process.exitCode = failures ? 1 : 0;
