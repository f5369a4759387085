// ---- the start ----------------------------------------------------------------------------------
// Runs the scripts of the page, which are compressed in it, as its data and the solver are.
//
// SPDX-License-Identifier: GPL-3.0-or-later

// Decodes base64, and inflates it by one of the formats of browsers.
function inflate(base64, format) {
    const text = atob(base64);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++)
        bytes[i] = text.charCodeAt(i);
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format)));
}

inflate(document.getElementById('scripts').textContent, 'gzip').text().then((text) => {
    const script = document.createElement('script');
    script.textContent = text;
    document.head.append(script);
});
