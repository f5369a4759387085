'use strict';
// Calls the solver of popliner, compiled to WebAssembly (module.c), in a page or in Node.js.
//
//     const solver = await Solver.load(bytes);
//     const table = solver.table(3, 1, ['a', 'b', 'c']);
//     table.fill('peaks', 1, [10, 20, 30, 10, 20, 10]);
//     const plan = JSON.parse(table.answer('plan', { num_ipus: 2, mem_per_tile: 25 }));
//
// SPDX-License-Identifier: GPL-3.0-or-later

const Solver = (() => {
    const KINDS = ['peaks', 'cycles', 'cuts'];
    const REALS = ['slack_percent', 'time_limit_seconds'];
    const FORBIDDEN = 0xffffffffffffffffn; // POPLINER_PEAK_FORBIDDEN

    // The C library asks a system for a clock, and for an environment, which is empty here. What
    // else it names is never called.
    function importsOf(module, viewOf) {
        const set32 = (place, value) => viewOf().setUint32(place, value, true);
        const system = {
            clock_time_get: (id, precision, place) => viewOf().setBigUint64(place,
                BigInt(Math.round(performance.now() * 1e6)), true),
            environ_sizes_get: (count, size) => [count, size].forEach((place) => set32(place, 0)),
            environ_get: () => 0,
        };
        const imports = {};
        for (const { module: from, name } of WebAssembly.Module.imports(module)) {
            imports[from] = imports[from] || {};
            imports[from][name] = (...values) => {
                if (!system[name])
                    throw new Error(`the solver ended in ${name}`);
                system[name](...values);
                return 0;
            };
        }
        return imports;
    }

    // A table of costs in the memory of the module. Free it, or keep it for ever.
    class Table {
        constructor(calls, numUnits, maxStages, names) {
            this.calls = calls;
            this.place = calls.popliner_module_new(numUnits, maxStages);
            if (this.place === 0)
                throw new Error('the solver lacks memory for the table');
            names.forEach((name, unit) => this.withText(name, (text) =>
                this.check(calls.popliner_module_name_unit(this.place, unit, text))));
        }

        free() {
            this.calls.popliner_module_free(this.place);
            this.place = 0;
        }

        // Sets the numbers of every stage, 0 to 0, 0 to 1, ..., in a position, or of every cut.
        fill(kind, stagesToEnd, numbers) {
            this.withNumbers(numbers, (place) => this.check(this.calls.popliner_module_fill(
                this.place, KINDS.indexOf(kind), stagesToEnd, place)));
        }

        // Divides the cycles into passes, as a page has them.
        divide({ samples, have_cuts: haveCuts, are_thirds: areThirds }, cycles) {
            this.withNumbers(cycles, (place) => this.check(this.calls.popliner_module_divide(
                this.place, samples, haveCuts, areThirds, place, cycles.length)));
        }

        // Peaks are by the number of all stages, not of those to the end.
        followSplit() {
            this.check(this.calls.popliner_module_follow_split(this.place));
        }

        // Returns the answer to a request as JSON: "plan", "front" or "sweep" (module.c). Members
        // of a request are options of the solver (popliner/solver.h), numbers, lists of numbers or
        // of lists of them; `objectives`, a list of names; and `texts` (module.c).
        answer(what, request) {
            const { calls } = this;
            calls.popliner_module_reset(this.place);
            for (const name of Object.keys(request))
                this.set(name, request[name]);
            return this.withText(what, (text) => {
                const answer = calls.popliner_module_answer(this.place, text);
                if (answer === 0)
                    this.check(1);
                return this.textAt(answer);
            });
        }

        // The cuts of a plan of the last answer, the first unit after each; null for no stages.
        cuts(plan) {
            const begins = [];
            for (let unit; (unit = this.calls.popliner_module_first_unit(this.place, plan,
                begins.length)) >= 0;)
                begins.push(unit);
            return begins.length === 0 ? null : begins.slice(1);
        }

        set(name, value) {
            const { calls } = this;
            const setText = (key, text) => this.withText(key, (k) => this.withText(text, (t) =>
                this.check(calls.popliner_module_set_text(this.place, k, t))));
            if (name === 'objectives')
                value.forEach((objective) => setText('objective', objective));
            else if (name === 'texts')
                Object.keys(value).forEach((key) => setText(key, value[key]));
            else if (REALS.includes(name))
                this.withText(name, (key) => this.check(calls.popliner_module_set_real(this.place,
                    key, value)));
            else
                this.withText(name, (key) => {
                    const numbers = [value].flat(2);
                    this.withNumbers(numbers, (place) => this.check(calls.popliner_module_set(
                        this.place, key, place, numbers.length)));
                });
        }

        check(status) {
            if (status !== 0)
                throw new Error(this.textAt(this.calls.popliner_module_error(this.place)));
        }

        // ---- the memory of the module ----

        textAt(place) {
            const bytes = new Uint8Array(this.calls.memory.buffer);
            return new TextDecoder().decode(bytes.subarray(place, bytes.indexOf(0, place)));
        }

        withRoom(size, use) {
            const place = this.calls.malloc(Math.max(1, size));
            if (place === 0)
                throw new Error('the solver lacks memory');
            try {
                return use(place);
            } finally {
                this.calls.free(place);
            }
        }

        withText(text, use) {
            const bytes = new TextEncoder().encode(`${text.replace(/\0/g, '\ufffd')}\0`);
            return this.withRoom(bytes.length, (place) => {
                new Uint8Array(this.calls.memory.buffer).set(bytes, place);
                return use(place);
            });
        }

        // Numbers of 64 bits, in two halves: large ones are BigInt.
        withNumbers(numbers, use) {
            return this.withRoom(8 * numbers.length, (place) => {
                const halves = new Uint32Array(this.calls.memory.buffer, place, 2 * numbers.length);
                for (let i = 0; i < numbers.length; i++) {
                    const number = numbers[i];
                    halves[2 * i] = typeof number === 'bigint' ? Number(number & 0xffffffffn)
                        : number % 4294967296;
                    halves[2 * i + 1] = typeof number === 'bigint' ? Number(number >> 32n)
                        : number / 4294967296;
                }
                return use(place);
            });
        }
    }

    // Compiles the module, from its bytes.
    async function load(bytes) {
        let calls = null;
        const module = await WebAssembly.compile(bytes);
        calls = (await WebAssembly.instantiate(module,
            importsOf(module, () => new DataView(calls.memory.buffer)))).exports;
        calls._initialize();
        return { FORBIDDEN, table: (numUnits, maxStages, names) => new Table(calls, numUnits,
            maxStages, names) };
    }

    return { FORBIDDEN, load };
})();

if (typeof module !== 'undefined')
    module.exports = Solver;
