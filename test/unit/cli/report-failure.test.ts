/** What somebody reads of a refusal that is over after a while. */
import { describe, expect, it } from 'vitest';
import { ERRORS } from '../../../src/errors/codes.js';
import { FlywheelError } from '../../../src/errors/flywheel-error.js';
import { isoTime } from '../../../src/values/time.js';
import { complaint, person, READER } from '../../support/commands.js';
import { fakeService } from '../../support/fake-service.js';
import { NOW_MS, testCli } from '../../support/in-process.js';

function limited(options = {}) {
  const service = fakeService();
  service.answer('currentBatch', () => {
    throw new FlywheelError('ERR_RATE_LIMIT_EXCEEDED', 'Over the limit.', { retryAfterSeconds: 11.2 });
  });
  return testCli({ ...options, service });
}

describe('a refusal that is over after a while', () => {
  it('says until when, for people', async () => {
    for (const who of [READER, person()]) {
      const { exit, stderr } = await limited(who).run('batch', 'current');
      expect(exit).toBe(ERRORS.ERR_RATE_LIMIT_EXCEEDED.exit);
      expect(stderr).toContain(`try again in 12 s, at ${isoTime(NOW_MS + 12_000)}\n`);
    }
  });

  it('says after how many seconds, for programs', async () => {
    const { stderr } = await limited().run('batch', 'current');
    expect(complaint(stderr)).toMatchObject({ error: 'ERR_RATE_LIMIT_EXCEEDED', retryAfterSeconds: 11.2 });
  });
});
