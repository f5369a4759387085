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

    const bytesOfText = (value) => new TextEncoder().encode(value);

    // The names of the formats of plans.
    function formatsOf(calls) {
        const names = [];
        for (let place; (place = calls.popliner_module_format(names.length)) !== 0;)
            names.push(textAt(calls, place));
        return names;
    }

    // Columns of numbers that need no check, one after another.
    function columnsOf(columns) {
        check(Array.isArray(columns), 'columns', columns, 'a list of lists');
        return Float64Array.from(columns.flatMap((own) => Array.from(own)));
    }

    const numbersOf = (values, what, most) =>
        BigUint64Array.from(values, (value) => BigInt(whole(value, what, 0, most)));

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
            labels.forEach((name, unit) => this.act('name_unit', unit, name));
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
            this.act('fill', KINDS.indexOf(kind), position,
                numbersOf(list(numbers, kind, count), kind));
        }

        // Sets the peaks of all stages, as a page of costs has them: lists of columns.
        takePeaks(columns) {
            const numbers = columnsOf(columns);
            this.act('take_peaks', numbers, numbers.length);
        }

        takeLines(columns) {
            const numbers = columnsOf(columns);
            this.act('take_lines', numbers, numbers.length);
        }

        // Makes what was taken that of sizes at most.
        keepMost() {
            this.act('keep_most');
        }

        // Takes the stages of a profile, as its page has them: columns, and names. Then `price`
        // makes the costs for the pipeline of a request.
        takeProfile(columns, names) {
            const numbers = columnsOf(columns);
            const texts = bytesOfText(list(names, 'names').map((name) =>
                text(name, 'names').replace(/\0/g, '\ufffd')).concat('').join('\0'));
            this.act('take_profile', numbers, numbers.length, texts, texts.length);
        }

        price(request) {
            this.request(request);
            this.act('price');
        }

        // Divides the cycles into passes, as a page has them.
        divide(passes, cycles) {
            object(passes, 'passes');
            const samples = whole(passes.samples, 'samples', 1, MOST_SAMPLES);
            for (const name of ['have_cuts', 'are_thirds'])
                check(typeof passes[name] === 'boolean', name, passes[name], 'true or false');
            const numbers = numbersOf(list(cycles, 'cycles',
                (this.numUnits + 1) * (2 * samples + 1)), 'cycles');
            this.act('divide', samples, passes.have_cuts, passes.are_thirds, numbers,
                numbers.length);
        }

        // Peaks are by the number of all stages, not of those to the end.
        followSplit() {
            this.act('follow_split');
        }

        // Returns the answer to a request as JSON: "plan", or another one of module.c. Members of a
        // request are options of the solver (popliner/solver.h), numbers, lists of numbers or of
        // lists of them; `objectives`, a list of names; and `texts` (module.c).
        answer(what, request) {
            this.request(request);
            return this.told('answer', text(what, 'answer'));
        }

        // Returns the plan of the last answer, "plan" or "evaluate", in another program's format.
        emit(format) {
            return this.told('emit', word(format, 'format', formatsOf(this.calls)));
        }

        // The cuts of a plan of the last answer, the first unit after each; null for no stages.
        cuts(plan) {
            const begins = [];
            const place = whole(plan, 'plan', 0, MOST);
            for (let unit; (unit = this.call('first_unit', place, begins.length)) >= 0;)
                begins.push(unit);
            return begins.length === 0 ? null : begins.slice(1);
        }

        request(request) {
            this.call('reset');
            for (const [name, value] of object(request, 'request'))
                this.set(name, value);
        }

        set(name, value) {
            const width = LISTS.get(name);
            if (name === 'objectives')
                list(value, name).forEach((own) =>
                    this.act('set_text', 'objective', text(own, 'objective')));
            else if (name === 'texts')
                object(value, name).forEach(([key, own]) =>
                    this.act('set_text', key, text(own, key)));
            else if (REALS.includes(name)) {
                check(Number.isFinite(value) && value >= 0, name, value, 'a number from 0 on');
                this.act('set_real', name, value);
            } else {
                const numbers = numbersOf(width === undefined ? [value] : width === 1
                    ? list(value, name) : list(value, name).flatMap((item) =>
                        list(item, name, width)), name, name === 'counted_units' ? 1 : FORBIDDEN);
                this.act('set', name, numbers, numbers.length);
            }
        }

        // ---- calls of the module ----

        // Calls a function, by its name; texts and typed arrays are in the memory of the module as
        // long as that takes.
        call(name, ...values) {
            const { calls } = this;
            if (this.memory === 0)
                throw new Error('the table was freed');
            const places = [];
            try {
                const given = values.map((value) => {
                    const data = typeof value === 'string'
                        ? bytesOfText(`${value.replace(/\0/g, '\ufffd')}\0`) : value;
                    if (!ArrayBuffer.isView(data))
                        return data;
                    const place = calls.malloc(Math.max(1, data.byteLength));
                    if (place === 0)
                        throw new Error('the solver lacks memory');
                    places.push(place);
                    new Uint8Array(calls.memory.buffer).set(new Uint8Array(data.buffer,
                        data.byteOffset, data.byteLength), place);
                    return place;
                });
                return calls[`popliner_module_${name}`](this.memory, ...given);
            } finally {
                places.forEach((place) => calls.free(place));
            }
        }

        // Calls one that returns a status.
        act(name, ...values) {
            if (this.call(name, ...values) !== 0)
                this.fail();
        }

        // Calls one that returns a text.
        told(name, ...values) {
            const place = this.call(name, ...values);
            return place !== 0 ? textAt(this.calls, place) : this.fail();
        }

        fail() {
            throw new Error(textAt(this.calls, this.call('error')));
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
