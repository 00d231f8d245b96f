// Reads a file by speedscope's own importer, without its page, and prints the weight of all profiles in it.
//
//   node speedscope.cjs FOLDER FILE     FOLDER is that of the package
const fs = require('fs')
const path = require('path')

const [folder, file] = process.argv.slice(2)
const release = path.join(folder, 'dist', 'release')
const script = fs.readdirSync(release).find((name) => /^speedscope-\w+\.js$/.test(name))
const page = fs.readFileSync(path.join(release, script), 'utf8')

// The importer is loaded by the page's first line; the last one draws the page.
const importer = /\(await (\w+)\)\.importProfileGroupFromText/.exec(page)?.[1]
const last = page.lastIndexOf('console.log(`speedscope v')
if (!importer || last < 0) throw new Error(`${script} is not as that of speedscope 1.25.0`)

const anything = new Proxy(function () {}, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => '' : anything),
  apply: () => anything,
  construct: () => anything,
  set: () => true,
})
for (const name of ['document', 'localStorage', 'matchMedia', 'getComputedStyle', 'requestAnimationFrame', 'addEventListener'])
  globalThis[name] = anything
globalThis.location = { protocol: 'http:', hash: '', href: 'http://localhost/' }
globalThis.window = new Proxy(globalThis, { get: (all, name) => (name in all ? all[name] : anything) })
;(0, eval)(`${page.slice(0, last)}globalThis.importer=${importer}})();`)

async function read() {
  const { importProfilesFromArrayBuffer } = await globalThis.importer
  const bytes = fs.readFileSync(file)
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)
  const { profiles } = await importProfilesFromArrayBuffer(path.basename(file), buffer)
  console.log(`total ${profiles.reduce((sum, profile) => sum + profile.getTotalNonIdleWeight(), 0)}`)
}
read()
