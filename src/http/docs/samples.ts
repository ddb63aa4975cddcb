/** How each operation is called, with curl and in TypeScript. What only the caller knows is taken from the environment. */
import type { OpenApiOperation } from '../../contract/openapi.js';
import type { Json } from '../../contract/openapi-schemas.js';

/** An operation and where it is found. */
export interface Endpoint {
  /** In capitals. */
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
}

/** Fields of which every caller has an own value, with the variable of the environment that holds it. */
const VARIABLES: Readonly<Record<string, string>> = { batchId: 'BATCH_ID', signedTx: 'SIGNED_TX' };

const IDEMPOTENCY_VARIABLE = 'IDEMPOTENCY_KEY';

/** The body of the example; `undefined` where the operation takes none. */
function exampleBody({ operation }: Endpoint): unknown {
  const content = operation.requestBody?.['content'] as Record<string, Json> | undefined;
  return content?.['application/json']?.['example'];
}

/** The header for the idempotency key, where the operation has one. */
const keyHeader = ({ operation }: Endpoint): string | undefined =>
  operation.parameters.map(({ name }) => String(name)).find((name) => name.includes('idempotency'));

/** The body with a mark in place of each value of the caller's. */
function marked(body: unknown, mark: (variable: string) => string): string {
  return JSON.stringify(body, (name, value) => (name in VARIABLES ? mark(VARIABLES[name] ?? '') : value), 2);
}

/** As it is typed in a shell. */
export function curlSample(endpoint: Endpoint, apiKeyHeader: string): string {
  const { method, path } = endpoint;
  const body = exampleBody(endpoint);
  const key = keyHeader(endpoint);
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `$${VARIABLES[name]}`);
  const parts = [
    `curl --silent --show-error --request ${method} "$FLYWHEEL_URL${address}"`,
    `--header "${apiKeyHeader}: $FLYWHEEL_API_KEY"`,
    ...(key === undefined ? [] : [`--header "${key}: $${IDEMPOTENCY_VARIABLE}"`]),
  ];
  if (body === undefined) return parts.join(' \\\n  ');
  const text = marked(body, (variable) => `$${variable}`);
  const delimiter = text.includes('$') ? 'JSON' : "'JSON'";
  parts.push('--header "content-type: application/json"', `--data-binary @- <<${delimiter}`);
  return `${parts.join(' \\\n  ')}\n${text}\nJSON`;
}

/** As a module without packages; it prints the answer. */
export function typescriptSample(endpoint: Endpoint, apiKeyHeader: string): string {
  const { method, path } = endpoint;
  const body = exampleBody(endpoint);
  const key = keyHeader(endpoint);
  const environment = (variable: string): string => `env.${variable}`;
  const address = path.replaceAll(
    /\{(\w+)\}/g,
    (_, name: string) => `\${${environment(VARIABLES[name] ?? '')}}`,
  );
  const headers = [
    `'${apiKeyHeader}': ${environment('FLYWHEEL_API_KEY')}!,`,
    ...(key === undefined ? [] : [`'${key}': ${environment(IDEMPOTENCY_VARIABLE)}!,`]),
    ...(body === undefined ? [] : ["'content-type': 'application/json',"]),
  ];
  const sent =
    body === undefined
      ? ''
      : `\n  body: JSON.stringify(${marked(body, (variable) => `@@${variable}@@`)
          .replaceAll(/"@@(\w+)@@"/g, (_, variable: string) => environment(variable))
          .replaceAll('\n', '\n  ')}),`;
  return [
    "import { env } from 'node:process';",
    '',
    `const response = await fetch(\`\${env.FLYWHEEL_URL}${address}\`, {`,
    `  method: '${method}',`,
    `  headers: {\n    ${headers.join('\n    ')}\n  },${sent}`,
    '});',
    'const answer = (await response.json()) as { error?: string; message?: string };',
    `if (!response.ok) throw Error(\`\${answer.error}: \${answer.message}\`);`,
    'console.log(JSON.stringify(answer, null, 2));',
  ].join('\n');
}
