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
    const KINDS = ['peaks', 'cycles', 'cuts', 'kv', 'kv_tokens', 'cache', 'workspace'];
    const ANSWERS = ['plan', 'evaluate', 'broken', 'alone', 'front', 'sweep', 'passes',
        'hints'];
    const REALS = ['slack_percent', 'time_limit_seconds'];
    // How many numbers an item of a list has; other members are one number.
    const LISTS = new Map(Object.entries({ device_map: 1, cut_rules: 1, counted_units: 1,
        link_bandwidth: 1, cuts: 1, copies_of: 1, listed: 1,
        ipu_limits: 2, ipu_speeds: 2, pairs: 2, placements: 2, ipu_links: 4 }));
    const FORBIDDEN = 0xffffffffffffffffn; // POPLINER_PEAK_FORBIDDEN
    const MOST = 4294967295; // of a size
    const MOST_SAMPLES = 256; // of a file of costs

    // ---- arguments ----

    function check(isRight, what, value, expected) {
        if (isRight)
            return;
        const isPlain = value === null || !['object', 'function', 'symbol'].includes(typeof value);
        const shown = typeof value === 'string' ? JSON.stringify(value)
            : isPlain ? String(value) : Array.isArray(value) ? 'a list' : `a ${typeof value}`;
        throw new Error(`${what}: ${shown}; expected ${expected}`);
    }

    function whole(value, what, least = 0, most = FORBIDDEN) {
        check((typeof value === 'bigint' || Number.isSafeInteger(value)) && value >= least &&
            value <= most, what, value, most === FORBIDDEN
            ? 'a whole number from 0 on, a BigInt from 2^53 on'
            : `a whole number from ${least} to ${most}`);
        return Number(value) < 2 ** 53 ? Number(value) : value;
    }

    function text(value, what) {
        check(typeof value === 'string', what, value, 'a text');
        return value;
    }

    function word(value, what, words) {
        check(words.includes(value), what, value, words.join(', '));
        return value;
    }

    function list(value, what, length) {
        const isList = Array.isArray(value) ||
            ArrayBuffer.isView(value) && !(value instanceof DataView);
        check(isList, what, value, 'a list');
        check(length === undefined || value.length === length, what, value.length,
            `${length} items`);
        return Array.from(value);
    }

    function object(value, what) {
        check(typeof value === 'object' && value !== null && !Array.isArray(value), what, value,
            'an object');
        return Object.entries(value);
    }

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

    function textAt({ memory }, place) {
        const bytes = new Uint8Array(memory.buffer);
        return new TextDecoder().decode(bytes.subarray(place, bytes.indexOf(0, place)));
    }

    // The names of the formats of plans.
    function formatsOf(calls) {
        const names = [];
        for (let place; (place = calls.popliner_module_format(names.length)) !== 0;)
            names.push(textAt(calls, place));
        return names;
    }

    // A table of costs in the memory of the module. Free it, or keep it for ever.
    class Table {
        constructor(calls, numUnits, maxStages, names) {
            this.calls = calls;
            this.numUnits = whole(numUnits, 'units', 1, MOST);
            this.maxStages = whole(maxStages, 'stages', 1, MOST);
            const labels = list(names, 'names', this.numUnits).map((it) => text(it, 'names'));
            this.memory = calls.popliner_module_new(this.numUnits, this.maxStages);
            if (this.memory === 0)
                throw new Error('the solver lacks memory for the table');
            labels.forEach((name, unit) => this.withText(name, (own) =>
                this.check(calls.popliner_module_name_unit(this.place, unit, own))));
        }

        get place() {
            if (this.memory === 0)
                throw new Error('the table was freed');
            return this.memory;
        }

        free() {
            this.calls.popliner_module_free(this.memory);
            this.memory = 0;
        }

        // Sets the numbers of every stage, 0 to 0, 0 to 1, ..., in a position, or of every cut or
        // unit.
        fill(kind, stagesToEnd, numbers) {
            const n = this.numUnits;
            word(kind, 'kind', KINDS);
            const position = whole(stagesToEnd, 'stages_to_end', 1,
                kind === 'peaks' ? this.maxStages : 1);
            const count = KINDS.indexOf(kind) > 1 ? n : n * (n + 1) / 2;
            this.withNumbers(list(numbers, kind, count), kind, (place) =>
                this.check(this.calls.popliner_module_fill(this.place, KINDS.indexOf(kind),
                    position, place)));
        }

        // Sets the peaks of all stages, as a page of costs has them: lists of columns.
        takePeaks(columns) {
            this.withColumns(columns, (place, count) => this.check(
                this.calls.popliner_module_take_peaks(this.place, place, count)));
        }

        // Makes what was taken that of sizes at most.
        keepMost() {
            this.check(this.calls.popliner_module_keep_most(this.place));
        }

        takeLines(columns) {
            this.withColumns(columns, (place, count) => this.check(
                this.calls.popliner_module_take_lines(this.place, place, count)));
        }

        // Takes the stages of a profile, as its page has them: columns, and names. Then `price`
        // makes the costs for the pipeline of a request.
        takeProfile(columns, names) {
            const { calls } = this;
            const bytes = new TextEncoder().encode(list(names, 'names').map((name) =>
                `${text(name, 'names').replace(/\0/g, '\ufffd')}\0`).join(''));
            const own = calls.malloc(bytes.length + 1); // the module keeps it
            if (own === 0)
                throw new Error('the solver lacks memory');
            new Uint8Array(calls.memory.buffer).set(bytes, own);
            this.withColumns(columns, (place, count) => this.check(
                calls.popliner_module_take_profile(this.place, place, count, own, bytes.length)));
        }

        price(request) {
            this.request(request);
            this.check(this.calls.popliner_module_price(this.place));
        }

        // Divides the cycles into passes, as a page has them.
        divide(passes, cycles) {
            object(passes, 'passes');
            const samples = whole(passes.samples, 'samples', 1, MOST_SAMPLES);
            for (const name of ['have_cuts', 'are_thirds'])
                check(typeof passes[name] === 'boolean', name, passes[name], 'true or false');
            const numbers = list(cycles, 'cycles', (this.numUnits + 1) * (2 * samples + 1));
            this.withNumbers(numbers, 'cycles', (place) =>
                this.check(this.calls.popliner_module_divide(this.place, samples,
                    passes.have_cuts, passes.are_thirds, place, numbers.length)));
        }

        // Peaks are by the number of all stages, not of those to the end.
        followSplit() {
            this.check(this.calls.popliner_module_follow_split(this.place));
        }

        // Returns the answer to a request as JSON: one of ANSWERS (module.c). Members
        // of a request are options of the solver (popliner/solver.h), numbers, lists of numbers or
        // of lists of them; `objectives`, a list of names; and `texts` (module.c).
        answer(what, request) {
            const { calls } = this;
            word(what, 'answer', ANSWERS);
            this.request(request);
            return this.withText(what, (own) => {
                const answer = calls.popliner_module_answer(this.place, own);
                if (answer === 0)
                    this.check(1);
                return textAt(calls, answer);
            });
        }

        request(request) {
            this.calls.popliner_module_reset(this.place);
            for (const [name, value] of object(request, 'request'))
                this.set(name, value);
        }

        // Returns the plan of the last answer, "plan" or "evaluate", in another program's format.
        emit(format) {
            return this.withText(word(format, 'format', formatsOf(this.calls)), (own) => {
                const text = this.calls.popliner_module_emit(this.place, own);
                if (text === 0)
                    this.check(1);
                return textAt(this.calls, text);
            });
        }

        // The cuts of a plan of the last answer, the first unit after each; null for no stages.
        cuts(plan) {
            const begins = [];
            const place = whole(plan, 'plan', 0, MOST);
            for (let unit; (unit = this.calls.popliner_module_first_unit(this.place, place,
                begins.length)) >= 0;)
                begins.push(unit);
            return begins.length === 0 ? null : begins.slice(1);
        }

        set(name, value) {
            const { calls } = this;
            const setText = (key, own) => this.withText(key, (k) => this.withText(text(own, key),
                (t) => this.check(calls.popliner_module_set_text(this.place, k, t))));
            const setNumbers = (numbers) => this.withText(name, (key) =>
                this.withNumbers(numbers, name, (place) => this.check(
                    calls.popliner_module_set(this.place, key, place, numbers.length))));
            const width = LISTS.get(name);
            if (name === 'objectives')
                list(value, name).forEach((objective) => setText('objective', objective));
            else if (name === 'texts')
                object(value, name).forEach(([key, own]) => setText(key, own));
            else if (REALS.includes(name)) {
                check(Number.isFinite(value) && value >= 0, name, value, 'a number from 0 on');
                this.withText(name, (key) => this.check(calls.popliner_module_set_real(this.place,
                    key, value)));
            } else if (width === undefined)
                setNumbers([value]);
            else if (width === 1)
                setNumbers(list(value, name).map((it) => name === 'counted_units'
                    ? whole(it, name, 0, 1) : it));
            else
                setNumbers(list(value, name).flatMap((item) => list(item, name, width)));
        }

        check(status) {
            if (status !== 0)
                throw new Error(textAt(this.calls, this.calls.popliner_module_error(this.place)));
        }

        // ---- the memory of the module ----

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

        withText(value, use) {
            const bytes = new TextEncoder().encode(`${value.replace(/\0/g, '\ufffd')}\0`);
            return this.withRoom(bytes.length, (place) => {
                new Uint8Array(this.calls.memory.buffer).set(bytes, place);
                return use(place);
            });
        }

        // Numbers that need no check, column after column.
        withColumns(columns, use) {
            check(Array.isArray(columns), 'columns', columns, 'a list of lists');
            const count = columns.reduce((sum, own) => sum + own.length, 0);
            return this.withRoom(8 * count, (place) => {
                const all = new Float64Array(this.calls.memory.buffer, place, count);
                columns.reduce((at, own) => {
                    all.set(own, at);
                    return at + own.length;
                }, 0);
                return use(place, count);
            });
        }

        // Numbers of 64 bits, in two halves: large ones are BigInt.
        withNumbers(values, what, use) {
            const numbers = values.map((value) => whole(value, what));
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
        return { FORBIDDEN, formats: formatsOf(calls), table: (numUnits, maxStages, names) =>
            new Table(calls, numUnits, maxStages, names) };
    }

    return { FORBIDDEN, load };
})();

if (typeof module !== 'undefined')
    module.exports = Solver;
