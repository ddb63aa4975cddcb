/**
 * Runs two linters and two generators on `openapi.json` beside it, and prints the linters' findings as JSON. The generators write
 * `openapi-typescript.d.ts` and `swagger-typescript-api.ts`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import spectral from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';
import openapiTypescript, { astToString } from 'openapi-typescript';
import { generateApi } from 'swagger-typescript-api';

const source = readFileSync('openapi.json', 'utf8');

const linter = new spectral.Spectral();
// Contact data depends on the operator of the service.
linter.setRuleset({ extends: [[rulesets.oas, 'all']], rules: { 'contact-properties': 'off' } });
const complaints = (await linter.run(source)).map(
  ({ code, path, message }) => `spectral ${code} ${path.join('.')}: ${message}`,
);
for (const ruleset of ['recommended', 'recommended-strict', 'spec']) {
  const config = await createConfig({ extends: [ruleset] });
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  complaints.push(
    ...problems.map(
      ({ ruleId, location, message }) => `redocly ${ruleId} ${location[0]?.pointer}: ${message}`,
    ),
  );
}

writeFileSync('openapi-typescript.d.ts', astToString(await openapiTypescript(source)));
await generateApi({
  fileName: 'swagger-typescript-api.ts',
  output: process.cwd(),
  spec: JSON.parse(source),
  silent: true,
});
process.stdout.write(JSON.stringify(complaints));
