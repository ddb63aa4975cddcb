/** What was exported or imported, as people read it. */
import type { StoreExported, StoreImported } from '../local-admin.js';

const rowsText = (rows: number): string => `${rows.toLocaleString('en')} rows`;

export const viewExported = ({ file, rows, sha256 }: StoreExported): readonly string[] => [
  `Exported ${rowsText(rows)}${file === null ? '' : ` to ${file}`}. SHA-256 ${sha256}`,
];

export const viewImported = ({ projects, rows, sha256, wasThere }: StoreImported): readonly string[] => [
  wasThere
    ? `All of it was there already: ${rowsText(rows)}. Nothing was written.`
    : `Imported ${projects === 1 ? 'one project' : `${projects} projects`}, ${rowsText(rows)}, and found them again as they were. SHA-256 ${sha256}`,
];
