/** A row is of one project, and so is all that it names. */

/** Counts the rows that are not, in either database. */
export const MIXED_ROWS = `select (select count(*) from burns join api_keys on api_keys.id = burns.key_id where api_keys.token_id <> burns.token_id)
  + (select count(*) from requests join api_keys on api_keys.id = requests.key_id where api_keys.token_id <> requests.token_id)
  + (select count(*) from batches join flywheels on flywheels.id = batches.flywheel_id where flywheels.token_id <> batches.token_id)
  + (select count(*) from burns join requests on requests.id = burns.request_id where requests.token_id <> burns.token_id)
  + (select count(*) from usage_holds join batches on batches.id = usage_holds.batch_id where batches.token_id <> usage_holds.token_id)
  as wrong`;
