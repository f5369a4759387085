'use strict';
// Calls the solver of popliner, compiled to WebAssembly (module.c), in a page or in Node.js.
//
//     const solver = await Solver.load(bytes);
//     const table = solver.table({ names: ['a', 'b', 'c'], peaks: [[10, 20, 30, 10, 20, 10]] });
//     const plan = JSON.parse(table.answer('plan', { num_ipus: 2, mem_per_tile: 25 }));
//
// SPDX-License-Identifier: GPL-3.0-or-later

const Solver = (() => {
    const FORBIDDEN = 0xffffffffffffffffn; // POPLINER_PEAK_FORBIDDEN

    // The C library asks a system for a clock, and for an environment, which is empty here. What
    // else it names is never called.
    function importsOf(viewOf) {
        const put = (how, place, value) => viewOf()[how](place, value, true) ?? 0;
        const system = new Proxy({
            clock_time_get: (id, precision, place) =>
                put('setBigUint64', place, BigInt(Math.round(performance.now() * 1e6))),
            environ_sizes_get: (count, size) => put('setUint32', count, 0) +
                put('setUint32', size, 0),
            environ_get: () => 0,
        }, { get: (own, name) => own[name] ?? (() => {
            throw new Error(`the solver ended in ${name}`);
        }) });
        return new Proxy({}, { get: () => system });
    }

    function textAt({ memory }, place) {
        const bytes = new Uint8Array(memory.buffer);
        return new TextDecoder().decode(bytes.subarray(place, bytes.indexOf(0, place)));
    }

    // As module.c reads it: BigInts are texts that begin as no other one does, and what JSON lacks
    // is false.
    function jsonOf(value) {
        return JSON.stringify(value, (_, own) => typeof own === 'bigint' ? `\ud800${own}`
            : ArrayBuffer.isView(own) && 'length' in own ? Array.from(own)
            : own === undefined ? null
            : ['function', 'symbol'].includes(typeof own) ||
                (typeof own === 'number' && !Number.isFinite(own)) ? false : own);
    }

    // A table of costs in the memory of the module. Free it, or keep it for ever.
    class Table {
        constructor(calls, costs) {
            this.calls = calls;
            this.memory = calls.popliner_module_new();
            if (this.memory === 0)
                throw new Error('the solver lacks memory for the table');
            try {
                this.tell('fill', costs);
            } catch (error) {
                this.free();
                throw error;
            }
        }

        free() {
            this.calls.popliner_module_free(this.memory);
            this.memory = 0;
        }

        // Returns the answer to a request as JSON: "plan", or another one of module.c.
        answer(what, request) {
            return this.tell('answer', [what, request]);
        }

        // Returns the plan of the last answer, "plan" or "evaluate", in another program's format.
        emit(format) {
            return this.tell('emit', format);
        }

        // Calls a function of the module, which takes the text over and returns one.
        tell(name, value) {
            const { calls } = this;
            if (this.memory === 0)
                throw new Error('the table was freed');
            const bytes = new TextEncoder().encode(`${jsonOf(value)}\0`);
            const place = calls.malloc(bytes.length);
            if (place === 0)
                throw new Error('the solver lacks memory');
            new Uint8Array(calls.memory.buffer).set(bytes, place);
            const told = calls[`popliner_module_${name}`](this.memory, place);
            if (told === 0)
                throw new Error(textAt(calls, calls.popliner_module_error(this.memory)));
            return textAt(calls, told);
        }
    }

    const isWhole = (value, most) => Number.isInteger(value) && value >= 1 && value <= most;

    // A table whose columns come one after another. The module gets it with the first question.
    class PartialTable {
        constructor(calls, numUnits, numPlaces, names) {
            if (!isWhole(numUnits, Infinity))
                throw new Error('units: expected a whole number from 1');
            if (!Array.isArray(names) || names.length !== numUnits)
                throw new Error(`names: expected ${numUnits} texts`);
            if (!isWhole(numPlaces, numUnits))
                throw new Error(`places: expected a whole number from 1 to ${numUnits}`);
            this.calls = calls;
            this.costs = { names, peaks: new Array(numPlaces).fill([]) };
            this.table = null;
        }

        // Sets the peaks of a place, from 1 on, or another column, whose place is 1.
        fill(column, place, numbers) {
            const { names: { length: n }, peaks } = this.costs;
            if (typeof column !== 'string')
                throw new Error('member: expected the name of a list');
            const most = column === 'peaks' ? peaks.length : 1;
            const count = ['peaks', 'cycles'].includes(column) ? n * (n + 1) / 2 : n;
            if (!isWhole(place, most))
                throw new Error(`${column}: place ${typeof place === 'number' ? place : typeof place
                }; expected 1 to ${most}`);
            if (numbers?.length !== count)
                throw new Error(`${column}: ${numbers?.length ?? 0} numbers; expected ${count}`);
            if (column === 'peaks')
                peaks[place - 1] = numbers;
            else
                this.costs[column] = numbers;
            this.free();
        }

        answer(what, request) {
            this.table = this.table ?? new Table(this.calls, this.costs);
            return this.table.answer(what, request);
        }

        emit(format) {
            if (this.table === null)
                throw new Error('there is no answer yet');
            return this.table.emit(format);
        }

        free() {
            this.table?.free();
            this.table = null;
        }
    }

    // Compiles the module, from its bytes.
    async function load(bytes) {
        let calls = null;
        const module = await WebAssembly.compile(bytes);
        calls = (await WebAssembly.instantiate(module,
            importsOf(() => new DataView(calls.memory.buffer)))).exports;
        calls._initialize();
        const formats = [];
        for (let place; (place = calls.popliner_module_format(formats.length)) !== 0;)
            formats.push(textAt(calls, place));
        return { formats, table: (costs, ...others) => others.length === 0 ? new Table(calls, costs)
            : new PartialTable(calls, costs, ...others) };
    }

    return { FORBIDDEN, load };
})();

if (typeof module !== 'undefined')
    module.exports = Solver;
