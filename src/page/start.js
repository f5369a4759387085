// ---- the start ----------------------------------------------------------------------------------
// Runs the scripts of the page, which are compressed in it, as the solver is.
//
// SPDX-License-Identifier: GPL-3.0-or-later

function inflate(text) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip')));
}

inflate(JSON.parse(document.getElementById('scripts').textContent)).text().then((text) => {
    const script = document.createElement('script');
    script.textContent = text;
    document.head.append(script);
});
