/** The header of a CSV file → which column holds which field. */
import leven from 'leven';
import type { Columns } from '../options/input-format.js';
import type { Problems } from './problems.js';

/** What a table of some kind may hold. */
export interface TableKind {
  /** Fields by which columns go, without the one below. */
  readonly fields: readonly string[];
  /** Field that is a JSON object: a column of JSON text, or one column `field.key` for each of its keys. */
  readonly object: string;
  /** Other names of fields. */
  readonly aliases: Readonly<Record<string, string>>;
  readonly required: readonly string[];
  /** Fields whose cells are text as it stands; others have no blanks around them. */
  readonly text: readonly string[];
}

/** One column of a file. */
export interface Column {
  /** As the header calls it. */
  readonly name: string;
  /** Without aliases; `proof.orderId` for a key of the object. */
  readonly field: string;
}

/** As many as an object may have keys. */
const MAX_COLUMNS = 10_000;
/** Names that differ in no more of their letters may be meant. */
const MAX_DISTANCE = 3;

/** `; did you mean "amount"?`, or nothing. */
function suggestion(name: string, names: readonly string[]): string {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[\s_-]/g, '');
  const ranked = names
    .map((other) => ({
      other,
      distance: leven(plain(name), plain(other), { maxDistance: MAX_DISTANCE + 1 }),
    }))
    .sort((left, right) => left.distance - right.distance);
  const [best] = ranked;
  const isNear = best !== undefined && best.distance <= Math.min(MAX_DISTANCE, name.length / 2);
  return isNear ? `; did you mean ${JSON.stringify(best.other)}?` : '';
}

class Header {
  readonly #kind: TableKind;
  readonly #columns: Columns;
  readonly #names: readonly string[];
  readonly #complain: (reason: string) => void;

  constructor(
    kind: TableKind,
    columns: Columns,
    names: readonly string[],
    complain: (reason: string) => void,
  ) {
    this.#kind = kind;
    this.#columns = new Map([...columns].map(([field, name]) => [this.#plain(field), name]));
    this.#names = names;
    this.#complain = complain;
  }

  read(): readonly Column[] {
    for (const [field, name] of this.#columns) this.#checkMapping(field, name);
    const columns = this.#names.map((name, at) => ({ name, field: this.#fieldOf(name, at) ?? '' }));
    this.#checkFields(columns);
    return columns;
  }

  #plain(field: string): string {
    const { aliases } = this.#kind;
    return Object.hasOwn(aliases, field) ? (aliases[field] ?? field) : field;
  }

  #isField(field: string): boolean {
    const { fields, object } = this.#kind;
    return fields.includes(field) || field === object || field.startsWith(`${object}.`);
  }

  #checkMapping(field: string, name: string): void {
    const { fields, object } = this.#kind;
    if (!this.#isField(field)) {
      const known = [...fields, object, `${object}.KEY`];
      this.#complain(
        `--column ${field}=${name}: unknown field ${JSON.stringify(field)}${suggestion(field, known)}`,
      );
    } else if (!this.#names.includes(name)) {
      const found = suggestion(name, this.#names);
      this.#complain(`--column ${field}=${name}: no column ${JSON.stringify(name)}${found}`);
    }
  }

  #fieldOf(name: string, at: number): string | undefined {
    if (name.trim() === '') return this.#refuse(`column ${at + 1} has no name`);
    if (this.#names.indexOf(name) < at) return this.#refuse(`column ${JSON.stringify(name)} occurs twice`);
    for (const [field, mapped] of this.#columns) if (mapped === name) return field;
    const field = this.#plain(name);
    const { fields, object } = this.#kind;
    if (!this.#isField(field)) {
      const unused = [...fields, object].filter((one) => !this.#names.includes(one));
      return this.#refuse(`unknown column ${JSON.stringify(name)}${suggestion(name, unused)}`);
    }
    if (this.#columns.has(field))
      return this.#refuse(`the file has a column ${field}, but --column names another one`);
    if (field === `${object}.` || field.slice(object.length + 1).includes('.'))
      return this.#refuse(
        `${JSON.stringify(name)}: a nested ${object} goes into one column ${JSON.stringify(object)}, as JSON`,
      );
    return field;
  }

  #refuse(reason: string): undefined {
    this.#complain(reason);
  }

  #checkFields(columns: readonly Column[]): void {
    const { object, required } = this.#kind;
    const fields = columns.map(({ field }) => field);
    const twice = fields.findIndex((field, at) => field !== '' && fields.indexOf(field) < at);
    if (twice >= 0) this.#complain(`two columns are for ${fields[twice] ?? ''}`);
    const keys = fields.findIndex((field) => field.startsWith(`${object}.`));
    if (keys >= 0 && fields.includes(object))
      this.#complain(
        `use either a column ${JSON.stringify(object)} or columns ${JSON.stringify(`${object}.KEY`)}`,
      );
    if (keys < 0 && !fields.includes(object))
      this.#complain(`no column ${JSON.stringify(object)} or ${JSON.stringify(`${object}.KEY`)}`);
    for (const field of required)
      if (!fields.includes(field)) this.#complain(`no column for ${field}; name one: --column ${field}=NAME`);
  }
}

/**
 * The columns of a table, in their order.
 * @param line - on which their names stand.
 */
export function readHeader(
  kind: TableKind,
  columns: Columns,
  names: readonly string[],
  problems: Problems,
  line: number,
): readonly Column[] {
  const complain = (reason: string): void => problems.add('header', reason, { path: 'header', line });
  if (names.length > MAX_COLUMNS) {
    complain(`${names.length} columns; at most ${MAX_COLUMNS} are allowed`);
    return [];
  }
  return new Header(kind, columns, names, complain).read();
}
