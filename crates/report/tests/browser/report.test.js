// The report in a browser: what it asks of the network, says on the console, and does when it is used.
// REPORT names the file, CHROMIUM the browser.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const url = pathToFileURL(process.env.REPORT).href;
let browser, page;
const requests = [], messages = [];

before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
  page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: "light" });
  page.on("request", (request) => requests.push(request.url()));
  page.on("console", (message) => messages.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => messages.push(`error: ${error.stack}`));
  await page.goto(url);
  await page.locator(".panel canvas").first().waitFor();
});
after(() => browser?.close());

const view = () => page.locator("[data-timeline]").first().evaluate((figure) => (figure.dataset.view ?? "").split(" ").map(Number));
const story = () => page.locator(".story").first().innerText();
const panel = () => page.locator(".panel").first();

// The scales of charts change with the next frame.
const frame = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

test("sections of what the recording has, and no other", async () => {
  const shown = await page.locator("article > section > h2").allInnerTexts();
  const wanted = ["Every detour over time", "What took the time", "How long detours are", "What is periodic", "CPU by source", "What the noise costs at scale", "The machine", "Where the numbers come from", "How reliable the numbers are", "The same as text"];
  assert.deepEqual(shown, wanted);
});

test("texts of the recording are texts of the page", async () => {
  assert.equal(await page.evaluate(() => window.hit), undefined, "no text became a script");
  assert.equal(await page.locator("img, b b, article i i").count(), 0, "no text became an element");
  const sources = await page.locator("#r1-sources").innerText();
  assert.match(sources, /thread <script>window\.hit=1<\/script>/);
});

test("the keyboard reaches a detour and reads its story", async () => {
  await panel().focus();
  await page.keyboard.press("ArrowRight");
  const longest = await story();
  assert.match(longest, /3\.0 ms VM exit or hardware on CPU 0 at 1\.500 s/);
  assert.match(longest, /gave 2\.0 ms of it to others \(steal\)/);
  for (let i = 0; i < 6; i++) await page.keyboard.press("ArrowDown");
  const thread = await story();
  assert.match(thread, /on CPU 0/);
  for (const part of ["entry gap", "thread <script>window.hit=1</script>", "in </script><img src=x onerror=window.hit=1>", "sent by CPU 1 \"><b>x</b>", "exit gap"]) {
    assert.ok(thread.includes(part), `${part} in: ${thread}`);
  }
});

test("hovering a mark tells the same story, and a click keeps it", async () => {
  const ring = await page.locator(".ring:visible").first().boundingBox();
  const told = await story();
  const [x, y] = [ring.x + ring.width / 2, ring.y + ring.height / 2];
  await panel().press("ArrowUp");
  await frame();
  assert.notEqual(await story(), told);
  await page.mouse.move(x, y);
  await frame();
  assert.equal(await story(), told);
  await page.mouse.click(x, y);
  await page.mouse.move(x - 200, y + 40);
  await frame();
  assert.equal(await story(), told, "kept");
  await panel().focus();
  await page.keyboard.press("Escape");
});

test("zoom by dragging, keys, buttons and wheel; and back", async () => {
  const box = await panel().locator(".over").boundingBox();
  const at = (part) => box.x + box.width * part;
  await page.mouse.move(at(0.25), box.y + 60);
  await page.mouse.down();
  await page.mouse.move(at(0.5), box.y + 60, { steps: 5 });
  await page.mouse.up();
  await frame();
  const [from, to] = await view();
  const span = 3e9;
  assert.ok(Math.abs(from - span / 4) < span / 50 && Math.abs(to - span / 2) < span / 50, `${from} to ${to}`);
  await page.keyboard.press("+");
  const [from2, to2] = await view();
  assert.ok(Math.abs(to2 - from2 - (to - from) / 2) < 2, "half as wide");
  await page.getByRole("button", { name: "Later" }).click();
  assert.ok((await view())[0] > from2, "moved");
  await page.mouse.move(at(0.5), box.y + 60);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, 300);
  await page.keyboard.up("Control");
  const wide = await view();
  assert.ok(wide[1] - wide[0] > to2 - from2, "wider");
  await page.mouse.dblclick(at(0.5), box.y + 60);
  assert.deepEqual(await view(), [0, span]);
});

test("the legend hides a source", async () => {
  const button = page.locator("[data-source='0']").first();
  await button.click();
  assert.equal(await button.getAttribute("aria-pressed"), "false");
  await button.click();
});

test("a chart shows the values that are pointed at, and its legend hides curves", async () => {
  const chart = page.locator("#r1-lengths [data-chart]").first();
  await chart.scrollIntoViewIfNeeded();
  const box = await chart.locator("svg:visible").boundingBox();
  const tip = chart.locator(".tip");
  // From left to right until the pointer is over data.
  for (let part = 0.3; part < 0.9 && !(await tip.isVisible()); part += 0.05) await page.mouse.move(box.x + box.width * part, box.y + box.height / 3);
  assert.match(await tip.innerText(), /^length of the detour [\d.]+ [nµm]?s\n(.*\n)*all detours: [\d,.]+/m);
  assert.ok((await chart.locator("svg:visible .cursor circle").count()) > 0, "points are ringed");
  const button = chart.locator("xpath=..").locator("[data-curve='0'][aria-pressed]");
  await button.click();
  assert.equal(await button.getAttribute("aria-pressed"), "false");
  assert.equal(await chart.locator("svg:visible g[data-curve='0']:not(.gone)").count(), 0, "it is not drawn");
  await chart.focus();
  for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowRight");
  assert.doesNotMatch(await tip.innerText(), /all detours/);
  await button.click();
  assert.ok((await chart.locator("svg:visible g[data-curve='0']:not(.gone)").count()) > 0, "it is drawn again");
  await page.mouse.move(0, 0);
  await chart.evaluate((plot) => plot.blur());
  assert.equal(await tip.isVisible(), false);
});

test("no two labels of a chart overlap, on any width", async () => {
  for (const width of [400, 700, 1000, 1280, 1920]) {
    await page.setViewportSize({ width, height: 900 });
    const found = await page.evaluate(() => {
      const overlaps = [];
      for (const plot of document.querySelectorAll("[data-chart]")) {
        const svg = [...plot.querySelectorAll("svg")].filter((svg) => svg.getClientRects().length > 0);
        if (svg.length !== 1) overlaps.push(`${svg.length} drawings`);
        const texts = [...svg[0].querySelectorAll("text:not([aria-hidden])")].map((text) => [text.textContent, text.getBoundingClientRect()]);
        const frame = plot.getBoundingClientRect();
        texts.forEach(([text, box], at) => {
          if (box.left < frame.left - 1 || box.right > frame.right + 1) overlaps.push(`${text} sticks out`);
          for (const [other, of] of texts.slice(at + 1))
            if (box.left < of.right - 1 && of.left < box.right - 1 && box.top < of.bottom - 3 && of.top < box.bottom - 3) overlaps.push(`${text} and ${other}`);
        });
      }
      return overlaps;
    });
    assert.deepEqual(found, [], `at ${width} pixels`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
});

test("the table of sources sorts, by mouse and by key, and its total follows", async () => {
  const table = page.locator("#r1-sources table.sortable");
  const column = (name) => table.locator("thead th", { hasText: name });
  const values = async (name) => {
    const at = await column(name).evaluate((head) => head.cellIndex);
    return table.locator("tbody tr").evaluateAll((rows, at) => rows.map((row) => Number(row.cells[at].dataset.v)), at);
  };
  assert.equal(await column("share").getAttribute("aria-sort"), "descending");
  await column("longest").getByRole("button").click();
  const longest = await values("longest");
  assert.deepEqual(longest, [...longest].sort((a, b) => b - a));
  assert.equal(await column("share").getAttribute("aria-sort"), null);
  await column("per s").getByRole("button").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  const rates = await values("per s");
  assert.deepEqual(rates, [...rates].sort((a, b) => a - b), "rising");
  assert.equal(await table.locator("td.total").last().innerText(), "100.0 %");
});

test("numbers are written as the text writes them", async () => {
  const found = await page.evaluate(() => [0, 9.78, 99.6, 412, 9951, 37600, 999501, 45.4e6, 2.5004e9, 1.234e12].map((ns) => anechoic.time(ns)));
  assert.deepEqual(found, ["0 ns", "9.8 ns", "100 ns", "412 ns", "10 µs", "38 µs", "1.0 ms", "45 ms", "2.50 s", "1,234 s"]);
});

test("light and dark", async () => {
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await paper(), "rgb(255, 255, 255)");
  await page.getByRole("button", { name: /light and dark/ }).click();
  assert.equal(await paper(), "rgb(21, 24, 29)");
  await page.getByRole("button", { name: /light and dark/ }).click();
  await page.emulateMedia({ colorScheme: "dark" });
  assert.equal(await paper(), "rgb(255, 255, 255)", "the reader has chosen");
  await page.emulateMedia({ colorScheme: "light" });
});

test("the skip link is the first stop", async () => {
  await page.evaluate(() => { scrollTo(0, 0); document.activeElement.blur(); });
  await page.reload();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
});

test("on paper all charts are there, on white, without what is pressed", async () => {
  await page.getByRole("button", { name: /light and dark/ }).click();
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator(".top").isVisible(), false);
  assert.equal(await page.locator(".tools").first().isVisible(), false);
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--paper")), "#ffffff");
  const charts = await page.locator("[data-chart]").count();
  assert.ok(charts >= 3);
  assert.equal(await page.locator("[data-chart] svg:visible").count(), charts, "each chart is drawn once");
  assert.equal(await page.locator(".panel canvas").count(), 2, "a panel for each CPU");
  const pdf = await page.pdf({ format: "A4" });
  assert.ok(pdf.length > 30_000, `${pdf.length} bytes`);
  await page.emulateMedia({ media: "screen" });
  assert.equal(await page.locator(".top").isVisible(), true);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark", "as it was");
});

for (const width of [320, 390, 820, 1440]) {
  test(`at ${width} pixels nothing sticks out`, async () => {
    await page.setViewportSize({ width, height: 800 });
    await frame();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `${wide} pixels`);
    const plot = await panel().evaluate((panel) => panel.querySelector("canvas").getBoundingClientRect().right - panel.getBoundingClientRect().right);
    assert.ok(plot < 1, "the chart has the width of its place");
  });
}

test("nothing left the file, and nothing went wrong", () => {
  assert.ok(requests.every((request) => request.split("#")[0] === url), requests.join("\n"));
  assert.deepEqual(messages, []);
});
