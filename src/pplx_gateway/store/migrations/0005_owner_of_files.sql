-- Files were kept under an id made from the gateway's key, so that a new key hid them. The only key was the owner's.
update files set caller = 'owner';
