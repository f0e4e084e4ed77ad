// Opens ONNX files with Netron's own loader: node netron_load.mjs FOLDER FILE...
// FOLDER has Netron's modules (the folder `netron` of its wheel). Prints a line of JSON a file.

import * as fs from 'node:fs';
import * as path from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, ...files] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.resolve(folder, `${name}.js`)).href);
const view = await load('view');
const base = await load('base');

const fail = (error) => {
    throw error;
};
const host = { require: load, event: () => {}, exception: fail, environment: () => null, window: {}, document: {} };

const contextOf = (file) => ({
    identifier: path.basename(file),
    stream: new base.BinaryStream(new Uint8Array(fs.readFileSync(file))),
    require: (id) => load(id.replace('./', '')),
    asset: async (name) => fs.readFileSync(path.join(folder, name), 'utf-8'),
    fetch: async (name, encoding, parent) => {
        const data = fs.readFileSync(path.join(parent === undefined ? folder : path.dirname(file), name));
        return encoding ? data.toString(encoding) : new base.BinaryStream(new Uint8Array(data));
    },
    error: fail
});

for (const file of files) {
    const model = await new view.ModelFactoryService(host).open(contextOf(file));
    const nodes = model.modules[0].nodes.map((node) => ({
        name: node.name,
        type: node.type.name,
        body: (node.type.nodes || []).length,
        metadata: Object.fromEntries((node.metadata || []).map((each) => [each.name, each.value]))
    }));
    console.log(JSON.stringify({ file, format: model.format, functions: (model.functions || []).length, nodes }));
}
