// Judges traces with the WebAssembly module, as a page would: node library/wasm/try.mjs MODULE TRACE…
import { readFile } from "node:fs/promises";
import { basename } from "node:path";

const [module, ...traces] = process.argv.slice(2);
const bytes = await readFile(module);
const { instance } = await WebAssembly.instantiate(bytes, {});
const { memory, jobcheck_input, jobcheck_judge, jobcheck_report } = instance.exports;
for (const path of traces) {
  const name = new TextEncoder().encode(basename(path));
  const trace = await readFile(path);
  const place = jobcheck_input(name.length, trace.length);
  new Uint8Array(memory.buffer, place, name.length).set(name);
  new Uint8Array(memory.buffer, place + name.length, trace.length).set(trace);
}
const start = performance.now();
const length = jobcheck_judge();
const elapsed = performance.now() - start;
const report = JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, jobcheck_report(), length)));
const found = report.jobs.flatMap((job) => job.violations.map((it) => `${it.requirement} ${job.job}`));
console.log(`${report.verdict}: ${report.judgedWrites} writes judged in ${elapsed.toFixed(0)} ms`);
found.forEach((line) => console.log(`  ${line}`));
console.log(`the module has ${bytes.length} bytes`);
