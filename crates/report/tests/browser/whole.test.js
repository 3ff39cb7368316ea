// Reports of many hosts and of a bulk-synchronous job in a browser: their charts are drawn and tell what is pointed at.
// HOSTS and JOB name the files, CHROMIUM the browser.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

let browser;

before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
});
after(() => browser?.close());

const cases = [
  { name: "hosts", file: process.env.HOSTS, section: "#all-hosts", charts: 3, tip: /CPU \d+.*%/s },
  { name: "job", file: process.env.JOB, section: "#r1-job", charts: 1, tip: /100 µs, .*measured: .*%.*recursion: .*%/s },
];

for (const { name, file, section, charts, tip } of cases) {
  test(`${name}: charts are drawn in light and dark, on any width, and nothing goes wrong`, async () => {
    const url = pathToFileURL(file).href;
    const requests = [], messages = [];
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.on("request", (request) => requests.push(request.url()));
    page.on("console", (message) => messages.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", (error) => messages.push(`error: ${error.stack}`));
    await page.goto(url);
    const drawn = page.locator(`${section} [data-chart] svg:visible`);
    await drawn.first().waitFor();
    assert.equal(await page.locator(`${section} [data-chart]`).count(), charts);
    assert.equal(await drawn.count(), charts);

    // Pointed at in its middle, the first chart tells names and values.
    const first = page.locator(`${section} [data-chart]`).first();
    await first.scrollIntoViewIfNeeded();
    const box = await first.locator("svg:visible").boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await first.locator(".tip:visible").waitFor();
    assert.match(await first.locator(".tip").innerText(), tip);
    // So do the arrow keys, without a mouse.
    await page.mouse.move(0, 0);
    await first.focus();
    await page.keyboard.press("ArrowRight");
    assert.match(await first.locator(".tip").innerText(), tip);
    // A curve that is hidden is told of no more.
    const button = page.locator(`${section} figure`).first().locator("button[data-curve='0']");
    await button.click();
    assert.equal(await button.getAttribute("aria-pressed"), "false");
    await button.click();

    for (const [width, dark] of [[1280, true], [390, false], [320, true]]) {
      await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
      await page.setViewportSize({ width, height: 800 });
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${wide} of ${width} pixels`);
    }
    assert.equal(await page.evaluate(() => window.hit), undefined, "no text became a script");
    assert.equal(await page.locator("img, article b b").count(), 0, "no text became an element");
    assert.ok(requests.every((request) => request.split("#")[0] === url), requests.join("\n"));
    assert.deepEqual(messages, []);
    await page.close();
  });
}
