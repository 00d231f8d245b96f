// The longest piece of work in which a page that opens hears nothing of its reader.

import { pathToFileURL } from "node:url";

/** The milliseconds that such a piece may take: what takes longer has to say so, and to be stopped. */
export const LONGEST = 100;

/** The processor milliseconds of the longest task of a page's thread while something is done, which other programs do not lengthen. */
export async function longestWhile(browser, page, act) {
  await browser.startTracing(page, { categories: ["toplevel"] });
  await act();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const thread = ({ pid, tid }) => `${pid} ${tid}`;
  const pages = new Set(traceEvents.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain").map(thread));
  const tasks = traceEvents.filter((event) => event.tdur > 0 && pages.has(thread(event)));
  if (!tasks.length) throw new Error("no tasks were traced");
  return tasks.reduce((longest, { tdur }) => Math.max(longest, tdur / 1000), 0);
}

/** The same until the page has drawn. */
export async function longestTask(browser, path) {
  const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
  const longest = await longestWhile(browser, page, async () => {
    await page.goto(pathToFileURL(path).href, { waitUntil: "commit" });
    await page.waitForFunction(() => globalThis.flame?.stage.took > 0, null, { timeout: 120_000, polling: 100 });
  });
  await page.close();
  return longest;
}
