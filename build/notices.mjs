/** Names, versions and licences of the bundled packages, and the notices that the licences require. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Licences that allow bundling. */
const ALLOWED = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'Apache-2.0', 'Unlicense'];

/** Packages that state their licence only in a file. */
const STATED = { 'text-encoding-utf-8': 'Unlicense' };

/** The text for MIT packages that ship without it; LICENSE is MIT too. */
const mitOf = (holder) =>
  readFileSync('LICENSE', 'utf8')
    .replace(/^MIT License\s+Copyright .*/, `Copyright (c) ${holder}`)
    .trim();

const PACKAGE_FOLDER = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/;
const LICENCE_FILE = /^(licen[cs]e|copying|notice)([.-].*)?$/i;
const TEXT_IN_README =
  /^(copyright .*\n[\s\S]*)?permission is hereby granted[\s\S]*?(dealings in the\s+software|use or performance)\.?/im;

/**
 * The packages with code in these outputs, sorted by name and version.
 * @throws if a licence does not allow bundling, or if its text is missing
 */
export function bundledPackages(metafiles) {
  const files = metafiles.flatMap(({ outputs }) =>
    Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs)),
  );
  const folders = new Set(files.flatMap((file) => PACKAGE_FOLDER.exec(file)?.[0] ?? []));
  const packages = new Map([...folders].map(readPackage).map((one) => [`${one.name} ${one.version}`, one]));
  return [...packages.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
}

function readPackage(folder) {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const { name, version, repository } = manifest;
  const licence = STATED[name] ?? manifest.license;
  if (!ALLOWED.includes(licence))
    throw new Error(`${name} ${version} is under ${licence ?? 'no licence'}, which may not be bundled.`);
  const author = manifest.author?.name ?? manifest.author ?? `the authors of ${name}`;
  const text = licenceText(folder) ?? (licence === 'MIT' ? mitOf(author) : undefined);
  if (text === undefined) throw new Error(`${name} ${version} comes without the text of its licence.`);
  return { name, version, licence, source: repository?.url ?? repository, text };
}

function licenceText(folder) {
  const read = (file) => readFileSync(join(folder, file), 'utf8').trim();
  const files = readdirSync(folder).filter((file) => LICENCE_FILE.test(file));
  if (files.length > 0) return files.map(read).join('\n\n');
  return existsSync(join(folder, 'README.md')) ? TEXT_IN_README.exec(read('README.md'))?.[0] : undefined;
}

export const notices = (packages) =>
  [
    'Third-party notices\n\nflywheel contains code of the packages below, each under its own licence.\n',
    ...packages.map(
      ({ name, version, licence, source, text }) =>
        `${name} ${version}\nLicence: ${licence}\n${source === undefined ? '' : `Source: ${source}\n`}\n${text}\n`,
    ),
  ].join(`\n${'-'.repeat(80)}\n\n`);
