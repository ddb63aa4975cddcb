/** The client alone, which the package has no types for by this name. */
declare module 'undici/lib/dispatcher/client.js' {
  import type { Client } from 'undici';

  const UndiciClient: typeof Client;
  export default UndiciClient;
}
