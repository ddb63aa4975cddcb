/**
 * Burns without a token, or whose record cannot be written: an error by element, and the request succeeds (service specification,
 * section 7).
 */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Api } from './api.js';
import { it } from './cases.js';
import { supplyOf } from './chain-reading.js';
import type { Project } from './in-process-service.js';
import { aBurnRequest, canonicalHash } from './requests.js';

/** The store takes this many more burn records of the project and refuses others, as a full disk does. */
async function withRoomFor(
  { service }: Api,
  { tokenId }: Project,
  records: number,
  use: () => Promise<void>,
): Promise<void> {
  const makeRoom = service.breakStore({ roomForBurns: records, tokenId });
  try {
    await use();
  } finally {
    makeRoom();
  }
}

const some = (count: number) =>
  Array.from({ length: count }, (_, order) => aBurnRequest(1, { proof: { order } }));

export function burnRecords(): void {
  it('1, 7, 9: "In the batch burn operation the first four codes appear per element" — ERR_TOKEN_NOT_FOUND, a token that is not v1', async (api) => {
    const project = await api.register({ tokenGeneration: 'v2' });
    const supply = await supplyOf(api, project);
    const requests = some(2);
    const { success, errors } = (await api.burnBatch(project, requests)).done();
    expect(success).toEqual([]);
    expect(errors).toEqual(
      requests.map(({ proof, type: proofType }) => ({
        ...{ type: 'ERR_TOKEN_NOT_FOUND', message: expect.stringMatching(/\S/), proof, proofType },
      })),
    );
    (await api.burn(project, aBurnRequest(1))).refused(400, 'ERR_TOKEN_NOT_FOUND');
    expect(await supplyOf(api, project)).toBe(supply);
  });

  it('7: "ERR_CREATE_API_EVENT_FAILED | typically 400 | The API event record for the burn attempt could not be created" — a single burn', async (api) => {
    const project = await api.register();
    const [supply, key] = [await supplyOf(api, project), randomUUID()];
    await withRoomFor(api, project, 0, async () => {
      const message = (await api.burn(project, aBurnRequest(1), key)).refused(
        400,
        'ERR_CREATE_API_EVENT_FAILED',
      );
      expect(message).not.toContain('no room');
    });
    expect(await supplyOf(api, project)).toBe(supply);
    expect((await api.burn(project, aBurnRequest(1), key)).replayed).toBe(false);
  });

  it('7: "… the first four codes appear per element" — ERR_CREATE_API_EVENT_FAILED beside another code', async (api) => {
    const project = await api.register();
    const supply = await supplyOf(api, project);
    await withRoomFor(api, project, 0, async () => {
      const requests = [aBurnRequest(1), aBurnRequest(2, { type: 'NOPE' }), aBurnRequest(3)];
      const { success, errors } = (await api.burnBatch(project, requests)).done();
      expect(success).toEqual([]);
      expect(errors).toEqual(
        requests.map(({ proof, type }) => ({
          type: type === 'NOPE' ? 'ERR_INVALID_PROOF' : 'ERR_CREATE_API_EVENT_FAILED',
          message: expect.not.stringContaining('no room'),
          proof,
          proofType: type,
        })),
      );
    });
    expect(await supplyOf(api, project)).toBe(supply);
  });

  it('7, 4.2: ERR_CREATE_API_EVENT_FAILED from the middle on — what was burned before is in `success`, and in the answer to a repeat', async (api) => {
    const project = await api.register();
    const [supply, key] = [await supplyOf(api, project), randomUUID()];
    const requests = some(270);
    let first: unknown;
    await withRoomFor(api, project, 260, async () => {
      const answer = await api.burnBatch(project, requests, key);
      const { success, errors } = answer.done();
      first = answer.done();
      const burned = success.length;
      expect([burned > 0, burned <= 260]).toEqual([true, true]);
      expect(success.map(({ hash }) => hash)).toEqual(
        requests.slice(0, burned).map(({ proof }) => canonicalHash(proof)),
      );
      expect(errors.map(({ type, proof }) => [type, proof])).toEqual(
        requests.slice(burned).map(({ proof }) => ['ERR_CREATE_API_EVENT_FAILED', proof]),
      );
      expect(supply - (await supplyOf(api, project))).toBe(BigInt(burned) * 1_000_000n);
    });
    const left = await supplyOf(api, project);
    const again = await api.burnBatch(project, requests, key);
    expect([again.done(), again.replayed]).toEqual([first, true]);
    expect(await supplyOf(api, project)).toBe(left);
  });
}
