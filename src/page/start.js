// ---- the start ----------------------------------------------------------------------------------
// Runs the scripts of the page, which are compressed in it, as the solver is.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const DIGITS = new Map(Array.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz' +
    '!#$%&()*+-;,=>?@^_`{|}~', (character, i) => [character.charCodeAt(0), i]));
const DIGIT_OF = Uint8Array.from({ length: 128 }, (_, code) => DIGITS.get(code) ?? 84);

// The bytes of a text: src/base/packed.c.
function bytesOf(text) {
    const bytes = new Uint8Array(4 * Math.ceil(text.length / 5));
    for (let i = 0, at = 0; i < text.length; i += 5) {
        let group = 0;
        for (let k = i; k < i + 5; k++)
            group = 85 * group + (k < text.length ? DIGIT_OF[text.charCodeAt(k)] : 84);
        for (let shift = 24; shift >= 0; shift -= 8)
            bytes[at++] = group >>> shift;
    }
    return bytes.subarray(0, Math.floor(text.length * 4 / 5));
}

function inflate(text) {
    return new Response(new Blob([bytesOf(text)]).stream()
        .pipeThrough(new DecompressionStream('gzip')));
}

if (typeof module !== 'undefined')
    module.exports = { bytesOf };
else
    inflate(JSON.parse(document.getElementById('scripts').textContent)).text().then((text) => {
        const script = document.createElement('script');
        script.textContent = text;
        document.head.append(script);
    });
