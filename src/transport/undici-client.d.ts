/** The package has no types for this module. */
declare module 'undici/lib/dispatcher/client.js' {
  import type { Client } from 'undici';

  const UndiciClient: typeof Client;
  export default UndiciClient;
}
