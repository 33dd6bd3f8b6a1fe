/* Passkeys: the browser's own dialog, and what its errors mean. */

const passkeys = {
  /** Why this browser cannot use passkeys here, or "". */
  get missing() {
    if (!globalThis.PublicKeyCredential) return "This browser has no passkeys.";
    if (!PublicKeyCredential.parseRequestOptionsFromJSON) return "This browser is too old to use passkeys on this page.";
    return "";
  },

  async sign(options, signal) {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    return (await navigator.credentials.get({ publicKey, signal })).toJSON();
  },

  async create(options) {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
    return (await navigator.credentials.create({ publicKey })).toJSON();
  },

  words(failure) {
    if (failure instanceof Refused) return failure.message;
    switch (failure?.name) {
      case "AbortError": return "Cancelled.";
      case "NotAllowedError": return "The passkey was not confirmed: cancelled, timed out, or not one of yours.";
      case "InvalidStateError": return "This passkey is enrolled already.";
      case "SecurityError": return "This browser does not allow passkeys at this address.";
      default: return "The passkey did not work here.";
    }
  },
};
