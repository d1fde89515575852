//! What several controllers share: arrival groups, trend lines, rates over windows.
