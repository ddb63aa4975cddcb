/** `flywheel proof hash`: the SHA-256 that a burn or a pipeline with this proof carries. */
import { proofHash } from '../../../values/digest.js';
import { defineCommand } from '../../command.js';
import { readProof } from '../../input/proof.js';
import { readInputText } from '../../input/read-input.js';

export const command = defineCommand({
  configure: (command) => command.argument('<file>', 'proof file (a JSON object); - for standard input'),
  run: async ({ context, output }, [file]) => {
    const hash = proofHash(readProof(await readInputText(context, file)));
    output.result({ hash }, () => [hash]);
    return undefined;
  },
  details: ['Hashes the canonical JSON (RFC 8785), so white space and key order do not matter.'],
  uses: [],
  output: ['{ "hash": sha256 }'],
  examples: ['flywheel proof hash proof.json', `echo '{"orderId":"A-1001"}' | flywheel proof hash -`],
});
