/** Checks statuses, bodies and headers of answers against the OpenAPI document alone. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

type Json = Readonly<Record<string, unknown>>;

export interface OpenApiOperation {
  readonly summary: string;
  readonly description: string;
  readonly deprecated?: boolean;
  readonly security: readonly Json[];
  readonly parameters: readonly Json[];
  readonly requestBody?: Json;
  readonly responses: Readonly<Record<string, Json>>;
}

export interface OpenApiDocument {
  readonly security: readonly Json[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: Json;
}

interface SeenAnswer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly body: unknown;
}

interface DocumentedResponse {
  readonly headers?: Readonly<Record<string, { readonly required?: boolean }>>;
  readonly content?: Readonly<Record<string, unknown>>;
}

const pointer = (...steps: readonly string[]): string =>
  steps.map((step) => step.replaceAll('~', '~0').replaceAll('/', '~1')).join('/');

export function answerJudge(document: OpenApiDocument) {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  (addFormats as unknown as (instance: Ajv2020) => void)(ajv);
  ajv.addFormat('base64', true);
  ajv.addSchema(document, 'api');
  const validate = (...steps: readonly string[]) => ajv.compile({ $ref: `api#/${pointer(...steps)}` });
  const compiled = new Map<string, ReturnType<typeof validate>>();
  const check = (value: unknown, ...steps: readonly string[]): readonly string[] => {
    const key = steps.join(' ');
    const validator = compiled.get(key) ?? validate(...steps);
    compiled.set(key, validator);
    return validator(value)
      ? []
      : (validator.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
  };
  return {
    /** @returns the undocumented parts of an answer; empty if everything is documented. */
    judge(path: string, method: string, answer: SeenAnswer): readonly string[] {
      const operation = document.paths[path]?.[method];
      const response = operation?.responses[String(answer.status)] as DocumentedResponse | undefined;
      if (response === undefined) return [`status ${answer.status} is not documented`];
      const missing = Object.entries(response.headers ?? {})
        .filter(([name, header]) => header.required === true && answer.headers.get(name) === null)
        .map(([name]) => `header ${name} is missing`);
      const place = ['paths', path, method, 'responses', String(answer.status)];
      const body = check(answer.body, ...place, 'content', 'application/json', 'schema');
      return [...missing, ...body];
    },
    acceptsRequest: (path: string, method: string, body: unknown): boolean =>
      check(body, 'paths', path, method, 'requestBody', 'content', 'application/json', 'schema').length === 0,
  };
}
