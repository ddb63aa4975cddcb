/** Bodies that are cheap to send and expensive to check; the worst that a search over JSON shapes found. */

/** The largest accepted body, minus room for one more piece. */
const LARGEST_BYTES = 4 * 1_024 * 1_024 - 64 * 1_024;

/** Repeats a piece inside one array up to the size. */
function arrayOf(
  sizeBytes: number,
  piece: (index: number) => string,
  most = Number.POSITIVE_INFINITY,
): string {
  const pieces: string[] = [];
  for (let size = 0; pieces.length < most; ) {
    const next = piece(pieces.length);
    size += Buffer.byteLength(next) + 1;
    if (size > sizeBytes) break;
    pieces.push(next);
  }
  return `[${pieces.join(',')}]`;
}

/** Typical elements, about 10 KiB each. */
export const plainBody = (sizeBytes = LARGEST_BYTES): string =>
  arrayOf(sizeBytes, (index) =>
    JSON.stringify({
      type: 'PRODUCT_BUY',
      proof: { index, note: 'x'.repeat(10_000) },
      burnAmount: 1,
      persistOnchain: false,
    }),
  );

const fields = (times: number, key: (index: number) => string, value: (index: number) => string): string =>
  `{${Array.from({ length: times }, (_, index) => `"${key(index)}":${value(index)}`).join()}}`;

const noLatin = (index: number): string => `${index.toString(36)}${'😀'.repeat(9)}`;
const farApart = (index: number): string => `${(index * 4_294_967) % 4_294_967_295}`;

const burnOf = (proof: string): string =>
  `{"type":"PRODUCT_BUY","proof":${proof},"burnAmount":-1,"persistOnchain":false}`;

/** Each near the size limit, and accepted by the parser unless its name says otherwise. */
export const dearBodies = (sizeBytes = LARGEST_BYTES): Readonly<Record<string, string>> => ({
  'objects of 9,900 keys that are no Latin text': arrayOf(
    sizeBytes,
    () => fields(9_900, noLatin, () => '1'),
    8,
  ),
  'objects of 9,900 escaped keys': arrayOf(
    sizeBytes,
    () =>
      fields(
        9_900,
        (index) => `${index.toString(36)}${'\\n'.repeat(20)}`,
        (index) => `"${index}"`,
      ),
    8,
  ),
  'objects that are all different': arrayOf(
    sizeBytes,
    (index) => `{"${index.toString(36)}":{"${index}":1}}`,
    19_900,
  ),
  'objects of six keys that no other has': arrayOf(
    sizeBytes,
    (index) =>
      `{${['a', 'b', 'c', 'd', 'e'].map((letter) => `"${letter}${index.toString(36)}":1`).join()},"${index}":1}`,
    11_400,
  ),
  'numbers that no double carries': arrayOf(sizeBytes, (index) => `{"burnAmount":1.${index}e-300}`, 39_900),
  'one proof of objects with far keys under keys that are no Latin text': `[${burnOf(
    fields(24, noLatin, () => fields(817, farApart, (index) => `[[{"1":${index}}]]`)),
  )}]`,
  'proofs of numbers that JSON does not have, deep under such keys': arrayOf(
    sizeBytes,
    () =>
      burnOf(
        fields(21, noLatin, () =>
          fields(
            6,
            farApart,
            () =>
              `[${fields(
                11,
                (index) => `k${index}`,
                () => '[1e400,1e400,1e400]',
              )}]`,
          ),
        ),
      ),
    13,
  ),
  'nothing but white space': `[${' \n'.repeat(sizeBytes / 2)}1]`,
});
