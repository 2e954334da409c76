(struct_item name: (type_identifier) @name) @class
(enum_item name: (type_identifier) @name) @class
(union_item name: (type_identifier) @name) @class
(trait_item name: (type_identifier) @name) @class
(type_item name: (type_identifier) @name) @class
(impl_item type: [(type_identifier) @name (generic_type type: (type_identifier) @name)]) @scope
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(macro_definition name: (identifier) @name) @function
(field_declaration name: (field_identifier) @name) @field
(enum_variant name: (identifier) @name) @field
(const_item name: (identifier) @name) @field
(static_item name: (identifier) @name) @field
[(use_declaration) (extern_crate_declaration)] @import
