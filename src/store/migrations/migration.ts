/** What a migration is, and what of it a database says in its own way. */

/** What differs between databases: names of types, and the rules that only triggers can state. */
export interface SchemaDialect {
  /** For numbers up to 2^53. */
  readonly integer: string;
  readonly bytes: string;
  /** For text that compares by its bytes. */
  readonly text: string;
  /** The check that text is that of a JSON object. */
  readonly isJsonObject: (column: string) => string;
  /** Statements that run after those of the migration with this version. */
  readonly triggers: (version: number) => readonly string[];
}

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly statements: (dialect: SchemaDialect) => readonly string[];
}
