// Judges a trace with the WebAssembly module, as a page would: node library/wasm/try.mjs TRACE
import { readFile } from "node:fs/promises";

const module = new URL("../../target/wasm32-unknown-unknown/wasm/jobcheck_wasm.wasm", import.meta.url);
const bytes = await readFile(module);
const { instance } = await WebAssembly.instantiate(bytes, {});
const { memory, jobcheck_input, jobcheck_judge, jobcheck_report } = instance.exports;
const trace = await readFile(process.argv[2]);
new Uint8Array(memory.buffer, jobcheck_input(trace.length), trace.length).set(trace);
const start = performance.now();
const length = jobcheck_judge();
const elapsed = performance.now() - start;
const report = JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, jobcheck_report(), length)));
const found = report.jobs.flatMap((job) => job.violations.map((it) => `${it.requirement} ${job.job}`));
console.log(`${report.verdict}: ${report.judgedWrites} writes judged in ${elapsed.toFixed(0)} ms`);
found.forEach((line) => console.log(`  ${line}`));
console.log(`the module has ${bytes.length} bytes`);
