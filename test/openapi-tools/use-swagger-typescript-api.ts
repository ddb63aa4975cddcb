/** The client that swagger-typescript-api writes: it reads, burns, and is refused. */
import { env, stdout } from 'node:process';
import { Api } from './swagger-typescript-api.js';

const headers = { 'x-service-api-key': env['FLYWHEEL_API_KEY'] ?? '' };
const api = new Api({ baseUrl: env['FLYWHEEL_URL'] ?? '', baseApiParams: { headers } });
const current = await api.v1.currentBatch();
const burned = await api.v1.burn({
  type: 'PRODUCT_BUY',
  proof: { orderId: 'A-2' },
  burnAmount: 2.5,
  persistOnchain: false,
});
const hash: string = burned.data.hash;
const refusal = await api.v1
  .getBatch('5f0c3c39-4c8e-4f3e-9b52-3d0d6f6c3f11')
  .catch(({ error }) => error.error);
stdout.write(JSON.stringify([current.data, burned.data.result, hash.length, refusal]));
