// What the page does beyond forms: it follows a run, sends with Enter, copies. It makes no HTML of
// text: fresh parts are parsed by the browser into a document in which nothing runs, and moved over.
"use strict";

const sent = new WeakMap(); // part -> as the server sent it, before anybody opened or typed

function remember(root) {
  for (const list of root.querySelectorAll("[data-live]"))
    for (const part of list.children) sent.set(part, part.outerHTML);
}

// A call is approved when all of it was on the screen: what was, of each text, as [from, to] in pixels.
const seen = new WeakMap();

function look() {
  if (document.hidden) return;
  for (const form of document.querySelectorAll("form[data-ticket]")) {
    const asleep = [...form.querySelectorAll(":scope > pre")].filter((text) => !wholly(text)).length > 0;
    for (const button of form.querySelectorAll("button:not(.no)")) button.disabled = asleep;
    form.querySelector("[data-asleep]").hidden = !asleep;
  }
}

function wholly(text) {
  const { top, height } = text.getBoundingClientRect();
  const parts = seen.get(text) ?? [];
  parts.push([Math.max(0, -top), Math.min(height, window.innerHeight - top)]);
  parts.sort((a, b) => a[0] - b[0]);
  seen.set(text, parts.filter(([from, to]) => from < to));
  let end = 0;
  for (const [from, to] of seen.get(text)) if (from <= end + 1) end = Math.max(end, to);
  if (end >= height - 1) seen.set(text, [[0, Infinity]]); // however it is laid out later
  return end >= height - 1;
}

// Somebody is in it, has typed into it, or is told what was wrong with what they sent.
function inUse(part) {
  const at = document.activeElement;
  const typed = [...part.querySelectorAll("input, textarea")].some((field) => field.value !== field.defaultValue);
  const told = part.matches("[data-stays]") || part.querySelector("[aria-invalid]") !== null;
  return typed || told || (part.contains(at) && at.matches("input, textarea, select"));
}

function openAgain(was, now) {
  const open = new Set([...was.querySelectorAll("details[open]"), was].filter((d) => d.open).map((d) => d.id));
  for (const details of [...now.querySelectorAll("details"), now])
    if (details.id && open.has(details.id)) details.open = true;
}

function renew(list, fresh) {
  const known = new Map([...list.children].map((part) => [part.id, part]));
  let place = null;
  for (const coming of [...fresh.children]) {
    const had = known.get(coming.id);
    const html = coming.outerHTML;
    let part = had;
    if (!had || (sent.get(had) !== html && !inUse(had))) {
      part = document.importNode(coming, true);
      sent.set(part, html);
      if (had) {
        openAgain(had, part);
        had.replaceWith(part);
      }
    }
    known.delete(coming.id);
    const next = place ? place.nextElementSibling : list.firstElementChild;
    if (next !== part) list.insertBefore(part, next);
    place = part;
  }
  for (const gone of known.values()) if (!inUse(gone)) gone.remove();
  look();
}

function refresh(done) {
  const request = new XMLHttpRequest();
  request.open("GET", location.href);
  request.responseType = "document";
  request.onload = () => {
    if (request.status !== 200 || !request.response) return;
    const low = window.innerHeight + window.scrollY > document.body.scrollHeight - 120;
    for (const fresh of request.response.querySelectorAll("[data-live]")) {
      const list = document.getElementById(fresh.id);
      if (list) renew(list, fresh);
    }
    if (low) window.scrollTo(0, document.body.scrollHeight);
  };
  request.onloadend = done;
  request.send();
}

function follow(talk) {
  const tail = document.getElementById("tail");
  const text = tail.querySelector("pre");
  let known = { head: Number(talk.dataset.after), running: talk.dataset.running === "yes", asked: talk.dataset.asked, version: -1 };
  let busy = false;
  let again = false;

  function renewAll() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    const began = performance.now();
    refresh(() => {
      // A page is made at most 1/32 of the time, so that watching slows no run down.
      setTimeout(rested, Math.min(32 * (performance.now() - began), 4000));
    });
  }

  function rested() {
    busy = false;
    if (!again) return;
    again = false;
    renewAll();
  }

  // Polls, since a browser opens six connections to a host: the seventh stream would wait forever.
  function received(now) {
    const moved = now.head !== known.head || now.running !== known.running;
    const asked = now.questions.join();
    if (moved || asked !== known.asked) renewAll();
    known = { head: now.head, running: now.running, asked, version: now.version ?? known.version };
    if (now.tail) show(now.tail);
    if (!now.running) tail.hidden = true;
    return now.running ? RUNNING : IDLE;
  }

  function show(now) {
    for (const [id, told] of Object.entries(now.progress))
      for (const far of talk.querySelectorAll(`[id$="-${CSS.escape(id)}"] > .far`)) far.textContent = told;
    const parts = [now.text, ...now.calls].filter(Boolean);
    text.textContent = parts.join("\n");
    tail.hidden = !parts.length;
  }

  return { url: () => `${talk.dataset.events}?version=${known.version}`, received };
}

const RUNNING = 300; // milliseconds until the next poll
const IDLE = 2500;
const HIDDEN = 15000;
const RESTARTED = [401, 403, 404]; // another server listens there, with another token

// Every page polls: a session page its session, any other page the server.
function beat({ url, received }) {
  const gone = document.getElementById("gone");
  let timer = 0;

  function report(problem) {
    const back = gone.dataset.problem && !problem;
    gone.dataset.problem = problem;
    for (const text of gone.children) text.hidden = text.dataset.when !== problem;
    gone.hidden = !problem;
    if (back) refresh(() => {});
  }

  async function poll() {
    clearTimeout(timer);
    let delay = IDLE;
    try {
      const answer = await fetch(url(), { cache: "no-store", signal: AbortSignal.timeout(10000) });
      report(RESTARTED.includes(answer.status) ? "restarted" : "");
      if (answer.status === 200) delay = received(await answer.json());
    } catch {
      report("stopped");
    }
    clearTimeout(timer);
    timer = setTimeout(poll, document.hidden ? HIDDEN : delay);
  }

  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) poll();
  });
  poll();
}

document.addEventListener("keydown", (event) => {
  const box = event.target;
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  if (!box.matches || !box.matches("textarea[data-send]")) return;
  event.preventDefault();
  if (box.value.trim()) box.form.requestSubmit();
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  button.classList.add("done");
});

// The rows of a table in the order of a column: numbers by size, other texts by the language's order.
document.addEventListener("click", (event) => {
  const head = event.target.closest("[data-sort]")?.parentElement;
  if (!head) return;
  const body = head.closest("table").tBodies[0];
  const down = head.ariaSort === "ascending";
  for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
  head.ariaSort = down ? "descending" : "ascending";
  const cell = (row) => row.cells[head.cellIndex].textContent;
  const order = new Intl.Collator(document.documentElement.lang, { numeric: true });
  const compare = (a, b) => cell(a) - cell(b) || order.compare(cell(a), cell(b));
  body.append(...[...body.rows].sort((a, b) => (down ? compare(b, a) : compare(a, b))));
});

for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
remember(document);
const talk = document.querySelector("[data-events]");
const alive = { url: () => document.getElementById("gone").dataset.alive, received: () => IDLE };
beat(talk ? follow(talk) : alive);
if (location.hash === "#end") window.scrollTo(0, document.body.scrollHeight);
for (const what of ["scroll", "visibilitychange"]) document.addEventListener(what, look);
window.addEventListener("resize", look);
look();
document.documentElement.dataset.ready = "yes";
